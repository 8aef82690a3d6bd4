import { seededRandom } from '../../clock/seeded-random.ts'
import type { Decider } from './decider.ts'
import { type Shard, WHOLE } from './shard.ts'
import type { Choice, Choose } from './trace.ts'

/** The probability of rare choices. */
const RARELY = { next: 1 / 3, fault: 1 / 12, crash: 1 / 16 }
/** About the number of choices in a short body: the range of the priority changes. */
const STEPS = 64
/** After so many choices priorities are not fair: a loop that waits for another flow would go first for ever. */
const FAIR_FROM = 4 * STEPS

/** Random schedules, as many as the budget allows. They depend on the seed, and the part of them, only. */
export function random(seed: number | string, shard: Shard = WHOLE): Decider {
  return endless({ seed, shard }, (fraction) => (choice) => draw(choice, fraction))
}

/**
 * Schedules by priority. Each flow of calls gets a random priority, and the highest goes next; at `depth - 1` random
 * points the first flow falls behind. It finds orders that depend on a few points sooner than random choices do. The
 * choices after some hundreds are random, so that every flow goes on at some time.
 *
 * After "A randomized scheduler with probabilistic guarantees of finding bugs" (S. Burckhardt et al., 2010).
 */
export function pct(seed: number | string, depth: number, shard: Shard = WHOLE): Decider {
  return endless({ seed, shard }, (fraction) => priorities(fraction, depth))
}

function priorities(fraction: () => number, depth: number): Choose {
  const flows = new Flows(fraction)
  const changes = new Set(Array.from({ length: depth - 1 }, () => below(STEPS, fraction)))
  let lowest = 0
  let steps = 0
  return (choice: Choice) => {
    const { kind, options } = choice
    if (kind !== 'next' || steps >= FAIR_FROM) return draw(choice, fraction)
    steps += 1
    const pending = flows.of(options)
    const index = highest(pending)
    const first = pending[index]
    if (first === undefined || !changes.has(steps)) return index
    first.priority = lowest -= 1
    return highest(pending)
  }
}

/** A chain of calls, each made after the one before it was answered. */
interface Flow {
  readonly actor: Actor
  priority: number
}

interface Actor {
  /** Whether its calls count as one flow, so that its flows take turns. */
  readonly isOne: boolean
  /** The flows whose last call was taken. */
  readonly idle: Set<Flow>
}

/**
 * Tells flows apart by their calls: calls of one actor that are pending together belong to different flows, and a new
 * call goes on with the flow whose call was taken last. For half of the actors all calls are one flow, because flows
 * that take turns find other faults than flows that go one after the other.
 */
class Flows {
  readonly #fraction: () => number
  readonly #actors = new Map<string, Actor>()
  readonly #ofCalls = new Map<string, Flow>()
  #pending: readonly Flow[] = []

  constructor(fraction: () => number) {
    this.#fraction = fraction
  }

  of(calls: readonly string[]): readonly Flow[] {
    const known = new Set(calls.map((call) => this.#ofCalls.get(call)))
    for (const flow of this.#pending) if (!known.has(flow)) flow.actor.idle.add(flow)
    this.#pending = calls.map((call) => this.#flowOf(call))
    return this.#pending
  }

  #flowOf(call: string): Flow {
    const known = this.#ofCalls.get(call)
    const actor = known?.actor ?? this.#actorOf(call)
    const flow = known ?? [...actor.idle].at(-1) ?? { actor, priority: this.#fraction() }
    if (!actor.isOne) actor.idle.delete(flow)
    this.#ofCalls.set(call, flow)
    return flow
  }

  #actorOf(call: string): Actor {
    const name = call.slice(0, call.indexOf('/'))
    const known = this.#actors.get(name)
    if (known !== undefined) return known
    const actor: Actor = { isOne: this.#fraction() < 1 / 2, idle: new Set() }
    if (actor.isOne) actor.idle.add({ actor, priority: this.#fraction() })
    this.#actors.set(name, actor)
    return actor
  }
}

function highest(flows: readonly Flow[]): number {
  return flows.reduce((best, { priority }, index) => {
    return priority > (flows[best]?.priority ?? priority) ? index : best
  }, 0)
}

function draw({ kind, options }: Choice, fraction: () => number): number {
  // Choices of the next step hold calls as well.
  if (kind === 'slow') return 0
  return fraction() < RARELY[kind] ? below(options.length, fraction) : 0
}

function endless(
  { seed, shard }: { readonly seed: number | string; readonly shard: Shard },
  begin: (fraction: () => number) => Choose,
): Decider {
  let place = shard.index - 1
  return {
    isExhaustive: false,
    seed,
    begin() {
      const source = seededRandom(`${seed} ${place}`)
      place += shard.count
      return begin(() => source.fraction())
    },
  }
}

function below(count: number, fraction: () => number): number {
  return Math.floor(fraction() * count)
}
