import { costOf } from './likely.ts'
import type { ScheduleReport } from './schedule.ts'
import { formatTrace, type Trace, traceOf } from './trace.ts'

/** An order of two steps that no schedule had, although both were ready at once. */
export interface UnmetOrder {
  readonly first: string
  readonly then: string
  /** The shortest schedule with it that is known, for `replay`. */
  readonly replay: string
}

/** The orders of steps that were ready at the same time, by the names that replay lines use. */
export interface OrderCoverage {
  /** The pairs of steps of which either could go first. */
  readonly pairs: number
  /** Those that were seen in both orders. */
  readonly bothWays: number
  /**
   * Orders that were never seen, ten at most: those with the fewest departures first. `explore` leaves out some that make no
   * difference.
   */
  readonly unmet: readonly UnmetOrder[]
}

/** At most so many pairs are counted, and so many steps are looked at beside one: long schedules are not slowed down. */
const MOST_PAIRS = 10_000
const MOST_BESIDE = 8
const MOST_UNMET = 10

interface Pair {
  readonly first: string
  readonly then: string
  /** The shortest known schedule in which `then` goes there. */
  readonly trace: Trace
  isBothWays: boolean
}

/** Adds up the orders of steps over many schedules. */
export class Orders {
  /** By the step that went first when the pair was first seen, and the other one. */
  readonly #pairs = new Map<string, Map<string, Pair>>()
  #count = 0
  #bothWays = 0

  add({ steps, decisions }: ScheduleReport): void {
    for (const [place, { label: first, ready }] of steps.entries()) {
      if (ready.length < 2) continue
      for (const then of ready.slice(0, MOST_BESIDE)) {
        if (then === first || this.#isKnown(first, then)) continue
        const before = traceOf({ decisions: decisions.filter(({ step }) => step < place) })
        const at = ready[0] ?? first
        this.#add({
          first,
          then,
          trace: then === at ? before : [...before, { kind: 'next', at, take: then }],
        })
      }
    }
  }

  get coverage(): OrderCoverage {
    const all = Array.from(this.#pairs.values(), (others) => [...others.values()]).flat()
    const unmet = all.filter(({ isBothWays }) => !isBothWays)
    unmet.sort((one, other) => one.trace.length - other.trace.length || costOfPair(one) - costOfPair(other))
    return {
      pairs: this.#count,
      bothWays: this.#bothWays,
      unmet: unmet
        .slice(0, MOST_UNMET)
        .map(({ first, then, trace }) => ({ first: then, then: first, replay: formatTrace(trace) })),
    }
  }

  #isKnown(first: string, then: string): boolean {
    if (this.#pairs.get(first)?.has(then) === true) return true
    const reverse = this.#pairs.get(then)?.get(first)
    if (reverse === undefined) return this.#count >= MOST_PAIRS
    if (!reverse.isBothWays) this.#bothWays += 1
    reverse.isBothWays = true
    return true
  }

  #add(pair: Omit<Pair, 'isBothWays'>): void {
    const others = this.#pairs.get(pair.first) ?? new Map<string, Pair>()
    this.#pairs.set(pair.first, others.set(pair.then, { ...pair, isBothWays: false }))
    this.#count += 1
  }
}

function costOfPair({ first, then }: Pair): number {
  return costOf({ kind: 'next', at: first, take: then })
}

/** The coverage in a sentence, with the shortest schedule to what was never seen. */
export function ordersText({ pairs, bothWays, unmet: [next] }: OrderCoverage): string {
  const seen = `Of ${pairs} pairs of steps that were ready at once ${bothWays} were seen in both orders.`
  if (next === undefined) return seen
  return `${seen}\nNever seen: ${next.first} before ${next.then}; see it with WAITPOINT_REPLAY='${next.replay}'`
}
