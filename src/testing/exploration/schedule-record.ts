import type { ToldCall } from './storage-call.ts'
import type { Choice, Choose, Decision } from './trace.ts'

/** An event in a schedule. */
export interface Step {
  readonly now: number
  readonly label: string
  /** The candidates for the next step, this one included. */
  readonly ready: readonly string[]
  /** The fault or crash, if there was one. */
  readonly event?: string | undefined
  /** The storage call, if it was one. */
  readonly call?: ToldCall | undefined
  /** Whether it is a timer that an engine has set. */
  readonly isEngines?: boolean
  /** Whether an adapter is under test. It hears of each call, and so may tell in what order they come. */
  readonly isHeard?: boolean
  /** The arguments as text; only when two executions are compared. */
  readonly asked?: string | undefined
}

/** A schedule that was executed. */
export interface Executed {
  readonly decisions: readonly Decision[]
  readonly steps: readonly Step[]
}

/** The decisions and events of a schedule, enough to describe and to repeat it. */
export class ScheduleRecord implements Executed {
  readonly decisions: Decision[] = []
  readonly steps: Step[] = []
  readonly #choose: Choose
  readonly #isDetailed: boolean

  constructor(choose: Choose, isDetailed: boolean) {
    this.#choose = choose
    this.#isDetailed = isDetailed
  }

  decide(choice: Choice): number {
    const index = this.#choose(choice)
    this.decisions.push({ choice, index, step: this.steps.length })
    return index
  }

  note(step: Omit<Step, 'asked'>): void {
    const { call } = step
    const isAsked = this.#isDetailed && call !== undefined
    this.steps.push(isAsked ? { ...step, asked: JSON.stringify(call.args, withoutStacks) } : step)
  }
}

/** Stored errors contain stacks, which include frames of this harness. */
function withoutStacks(key: string, value: unknown): unknown {
  if (key === 'stack') return undefined
  return key === 'errorJson' && typeof value === 'string' ? JSON.parse(value) : value
}
