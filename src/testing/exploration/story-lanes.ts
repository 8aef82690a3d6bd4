import { isFinal } from '../../contract/run-states.ts'
import type { Names } from './names.ts'
import type { Step } from './schedule-record.ts'
import { FIRST_INSTANT } from './schedule-timers.ts'
import { before, departuresIn, type Told } from './story.ts'
import { Narrator } from './step-words.ts'
import type { ToldCall } from './storage-call.ts'

/** `body`: the test. `time`: the clock. Runs and engines have lanes of their own, by name. */
export interface StoryLane {
  readonly name: string
  readonly kind: 'time' | 'body' | 'run' | 'engine'
  /** Whether it has nothing but what the engine does for itself. */
  readonly isInside: boolean
}

/** What a run does after an event: `absent` before it is triggered, and after it has ended. */
export type LaneState = 'absent' | 'queued' | 'executing' | 'waiting'

/** One event of a schedule, in the lane of its actor. */
export interface LaneEvent {
  /** Virtual milliseconds since the schedule began. */
  readonly at: number
  readonly lane: string
  /** The lane of the run that it is about, if that is another one. */
  readonly to: string | undefined
  readonly text: string
  /** Whether the engine does it for itself. */
  readonly isInside: boolean
  /** The crash or the fault. */
  readonly event: string | undefined
  /** How it departs from the usual order; empty for a crash or a fault. */
  readonly departure: string | undefined
  /** The label of a timer or a step, as in a replay line; the storage call. */
  readonly label: string
  readonly call: ToldCall | undefined
  /** What the runs do after it; those that are not named are absent. */
  readonly states: ReadonlyMap<string, LaneState>
}

export interface StoryLanes {
  readonly lanes: readonly StoryLane[]
  readonly events: readonly LaneEvent[]
}

/** A schedule as lanes: the clock, the test, each run, and each engine. */
export function storyLanes(told: Told): StoryLanes {
  const { steps, trace, names } = told
  const narrator = new Narrator(steps, names)
  const departures = departuresIn(steps, trace)
  const runs = runNames(steps, names)
  const states = new LaneStates(names)
  const kinds = new Map<string, StoryLane['kind']>([
    ['time', 'time'],
    ['body', 'body'],
    ...Array.from(runs, (name) => [name, 'run'] as const),
  ])
  const events = steps.map((step, index): LaneEvent => {
    const { text, outcome, isInside } = narrator.tell(step)
    const departure = departures.get(index)
    const lane = laneOf(step, names)
    if (!kinds.has(lane)) kinds.set(lane, 'engine')
    const subject = subjectOf(step, names)
    states.add(step, runs.has(lane) ? lane : undefined)
    return {
      at: step.now - FIRST_INSTANT,
      lane,
      to: subject !== undefined && subject !== lane && runs.has(subject) ? subject : undefined,
      text: `${text}${outcome}`,
      isInside: isInside && departure === undefined && step.event === undefined,
      event: step.event,
      departure: departure && before(departure, steps, (one) => narrator.tell(one)).replace(/^, /, ''),
      label: step.label,
      call: step.call,
      states: states.now,
    }
  })
  const lanes = Array.from(kinds, ([name, kind]): StoryLane => {
    const isInside = kind === 'engine' && events.every((one) => one.lane !== name || one.isInside)
    return { name, kind, isInside }
  })
  // Lanes that can be hidden come last.
  return { lanes: [...lanes.filter((one) => !one.isInside), ...lanes.filter((one) => one.isInside)], events }
}

function runNames(steps: readonly Step[], names: Names): ReadonlySet<string> {
  return new Set(
    steps.flatMap(({ call }) => {
      if (call?.name === 'runs.insert') return names.of(insertedId(call)) ?? []
      return call?.name === 'runs.claim' ? claimed(call, names) : []
    }),
  )
}

type CallNamed<Name> = Extract<ToldCall, { readonly name: Name }>

function insertedId({ args: [{ record }], answer }: CallNamed<'runs.insert'>): string {
  return answer === undefined || answer === 'stale' ? record.id : answer.record.id
}

function claimed({ answer }: CallNamed<'runs.claim'>, names: Names): readonly string[] {
  return (answer?.runs ?? []).map(({ id }) => names.of(id) ?? id)
}

/** The actor; the run that begins, where an engine claims it. */
function laneOf({ label, call }: Step, names: Names): string {
  const starting = call?.name === 'runs.claim' ? claimed(call, names)[0] : undefined
  return starting ?? call?.actor ?? label.slice(0, label.indexOf('/'))
}

/** The run that an event is about. */
function subjectOf({ label, call }: Step, names: Names): string | undefined {
  switch (call?.name) {
    case undefined:
      return makerOf(/^time\/(?:deadline of (?:token|run) )?(.*?)(?: slept .*)?#\d+$/s.exec(label)?.[1])
    case 'runs.insert':
      return names.of(insertedId(call))
    case 'runs.get':
      return names.of(call.args[0])
    case 'tokens.get':
      return makerOf(names.of(call.args[0]))
    case 'tokens.settle':
      return makerOf(names.of(call.args[0].id))
    default:
      return undefined
  }
}

/** `order` of `order.token~2`. */
function makerOf(name: string | undefined): string | undefined {
  return name?.replace(/\.[^.]*$/s, '')
}

/** Calls that a run makes although it goes on waiting. */
const STILL: ReadonlySet<string> = new Set(['runs.park', 'tokens.release'])

/** What the runs do, event by event. */
class LaneStates {
  readonly #names: Names
  readonly #states = new Map<string, LaneState>()
  /** The engine that executes a run. */
  readonly #engines = new Map<string, string>()

  constructor(names: Names) {
    this.#names = names
  }

  get now(): ReadonlyMap<string, LaneState> {
    return new Map(this.#states)
  }

  /** @param actor The run that makes the call, if one does. */
  add({ call, event }: Step, actor: string | undefined): void {
    if (actor !== undefined && call !== undefined && !STILL.has(call.name))
      this.#states.set(actor, 'executing')
    if (call?.answer !== undefined) this.#answered(call)
    const dead = /^(.*) dies (?:before|of) it$/s.exec(event ?? '')?.[1]
    if (dead !== undefined) this.#died(dead === 'the process' ? 'engine' : dead)
  }

  /** A dead process executes nothing any more: its runs wait for the lease to end. */
  #died(engine: string): void {
    for (const [run, state] of this.#states)
      if (state === 'executing' && this.#engines.get(run) === engine) this.#states.set(run, 'queued')
  }

  #answered(call: ToldCall): void {
    switch (call.name) {
      case 'runs.insert': {
        const name = this.#names.of(insertedId(call)) ?? ''
        if (!this.#states.has(name)) this.#states.set(name, 'queued')
        return
      }
      case 'runs.claim':
        for (const run of claimed(call, this.#names)) {
          this.#states.set(run, 'executing')
          this.#engines.set(run, call.actor)
        }
        return
      case 'tokens.await':
        if (call.answer?.outcome === 'registered') this.#states.set(call.actor, 'waiting')
        return
      case 'runs.update':
        return this.#updated(call)
      default:
    }
  }

  #updated({ args: [{ id, change }] }: CallNamed<'runs.update'>): void {
    const { status } = change
    if (status === undefined) return
    this.#states.set(this.#names.of(id) ?? id, isFinal(status) ? 'absent' : 'queued')
  }
}
