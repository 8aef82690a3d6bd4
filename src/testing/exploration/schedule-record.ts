import type { Choice, Choose, Decision } from './trace.ts'

/** Something that happened in a schedule. */
export interface Step {
  readonly now: number
  readonly label: string
  /** What could have gone next, this included. */
  readonly ready: readonly string[]
  /** What was done to it. */
  readonly event?: string | undefined
  /** What it was asked with, as text; only when two schedules are to be compared. */
  readonly asked?: string | undefined
}

interface NewStep extends Omit<Step, 'asked'> {
  readonly args?: readonly unknown[] | undefined
}

/** What was decided in a schedule, and what happened: enough to tell it, and to run it again. */
export class ScheduleRecord {
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
    this.decisions.push({ choice, index })
    return index
  }

  note({ args, ...step }: NewStep): void {
    const isAsked = this.#isDetailed && args !== undefined
    this.steps.push(isAsked ? { ...step, asked: JSON.stringify(args, withoutStacks) } : step)
  }
}

/** Errors are stored with the stack they were thrown from, which tells of this harness too. */
function withoutStacks(key: string, value: unknown): unknown {
  if (key === 'stack') return undefined
  return key === 'errorJson' && typeof value === 'string' ? JSON.parse(value) : value
}
