import { RunawayError } from './errors.ts'
import type { WaitingRun } from './wait-graph.ts'

const NAMED_LABELS = 3

/** Limits the number of timers that one call may fire. */
export class StepBudget {
  readonly #maxSteps: number
  readonly #spent: () => void
  readonly #firings = new Map<string, number>()
  #steps = 0
  #graph: readonly WaitingRun[] = []

  /** @param spent Called when a step is one too many. */
  constructor(maxSteps: number, spent: () => void) {
    this.#maxSteps = maxSteps
    this.#spent = spent
  }

  /** Called before a timer fires, because the wait that it ends is known only until then. */
  before(known: { readonly graph: readonly WaitingRun[] }): void {
    if (this.#steps >= this.#maxSteps) this.#graph = known.graph
  }

  spend(label: string): void {
    // Each round of a loop in a task has a token of its own.
    const kind = label.replace(/ (?:waitpoint|sleep|run)_\w+$/, '')
    this.#firings.set(kind, (this.#firings.get(kind) ?? 0) + 1)
    this.#steps += 1
    if (this.#steps <= this.#maxSteps) return
    this.#spent()
    throw new RunawayError({ maxSteps: this.#maxSteps, labels: this.#mostFrequent(), graph: this.#graph })
  }

  #mostFrequent(): string[] {
    return [...this.#firings]
      .sort(([, one], [, other]) => other - one)
      .slice(0, NAMED_LABELS)
      .map(([label]) => label)
  }
}
