import { RunawayError } from './errors.ts'

const NAMED_LABELS = 3

/** Limits the number of timers that one call may fire. */
export class StepBudget {
  readonly #maxSteps: number
  readonly #spent: () => void
  readonly #firings = new Map<string, number>()
  #steps = 0

  /** @param spent Called when a step is one too many. */
  constructor(maxSteps: number, spent: () => void) {
    this.#maxSteps = maxSteps
    this.#spent = spent
  }

  spend(label: string): void {
    this.#firings.set(label, (this.#firings.get(label) ?? 0) + 1)
    this.#steps += 1
    if (this.#steps <= this.#maxSteps) return
    this.#spent()
    throw new RunawayError(this.#maxSteps, this.#mostFrequent())
  }

  #mostFrequent(): string[] {
    return [...this.#firings]
      .sort(([, one], [, other]) => other - one)
      .slice(0, NAMED_LABELS)
      .map(([label]) => label)
  }
}
