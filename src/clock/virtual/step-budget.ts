import { RunawayError } from './errors.ts'

const NAMED_LABELS = 3

/** Limits the number of timers that one call may fire. */
export class StepBudget {
  readonly #maxSteps: number
  readonly #firings = new Map<string, number>()
  #steps = 0

  constructor(maxSteps: number) {
    this.#maxSteps = maxSteps
  }

  spend(label: string): void {
    this.#firings.set(label, (this.#firings.get(label) ?? 0) + 1)
    this.#steps += 1
    if (this.#steps > this.#maxSteps) throw new RunawayError(this.#maxSteps, this.#mostFrequent())
  }

  #mostFrequent(): string[] {
    return [...this.#firings]
      .sort(([, one], [, other]) => other - one)
      .slice(0, NAMED_LABELS)
      .map(([label]) => label)
  }
}
