import { formatTrace, type Trace } from './trace.ts'

/** Schedules with so few deviations are kept, and so many: a failure is shrunk to one of them. */
const MOST_DEVIATIONS = 2
const MOST_KEPT = 10_000

/** The first short schedules of an exploration that passed. */
export class PassedSchedules {
  readonly #lines = new Set<string>()

  add(trace: Trace): void {
    if (trace.length <= MOST_DEVIATIONS && this.#lines.size < MOST_KEPT) this.#lines.add(formatTrace(trace))
  }

  has(trace: Trace): boolean {
    return this.#lines.has(formatTrace(trace))
  }
}
