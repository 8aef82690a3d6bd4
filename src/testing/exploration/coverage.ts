import type { ObservedWait } from './observer.ts'

/** The number of schedules for each outcome of each wait: `{ 'review.token': { COMPLETED: 12, TIMED_OUT: 3 } }`. */
export type WaitCoverage = Readonly<
  Record<string, Readonly<Partial<Record<ObservedWait['outcome'], number>>>>
>

/** Adds up the outcomes of waits over many schedules. */
export class Coverage {
  readonly #waits = new Map<string, Map<ObservedWait['outcome'], number>>()

  add(outcomes: readonly ObservedWait[]): void {
    for (const { wait, outcome } of outcomes) {
      const counts = this.#waits.get(wait) ?? new Map<ObservedWait['outcome'], number>()
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      this.#waits.set(wait, counts)
    }
  }

  get waits(): WaitCoverage {
    return Object.fromEntries(Array.from(this.#waits, ([wait, counts]) => [wait, Object.fromEntries(counts)]))
  }
}
