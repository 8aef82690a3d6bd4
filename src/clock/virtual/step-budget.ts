import { RunawayError } from './errors.ts'
import type { WaitingRun } from './wait-graph.ts'

const NAMED_LABELS = 3

/** Limits the number of timers that one call may fire. */
export class StepBudget {
  readonly #maxSteps: number
  readonly #spent: () => void
  /** What has fired. It is counted only when it was too much. */
  readonly #labels: string[] = []
  #graph: readonly WaitingRun[] = []

  /** @param spent Called when a step is one too many. */
  constructor(maxSteps: number, spent: () => void) {
    this.#maxSteps = maxSteps
    this.#spent = spent
  }

  /** Called before a timer fires, because the wait that it ends is known only until then. */
  before(known: { readonly graph: readonly WaitingRun[] }): void {
    if (this.#labels.length >= this.#maxSteps) this.#graph = known.graph
  }

  spend(label: string): void {
    this.#labels.push(label)
    if (this.#labels.length <= this.#maxSteps) return
    this.#spent()
    throw new RunawayError({ maxSteps: this.#maxSteps, labels: this.#mostFrequent(), graph: this.#graph })
  }

  #mostFrequent(): string[] {
    const firings = new Map<string, number>()
    for (const label of this.#labels) {
      // Each round of a loop in a task has a token of its own.
      const kind = label.replace(/ (?:waitpoint|sleep|run)_\w+$/, '')
      firings.set(kind, (firings.get(kind) ?? 0) + 1)
    }
    return [...firings]
      .sort(([, one], [, other]) => other - one)
      .slice(0, NAMED_LABELS)
      .map(([label]) => label)
  }
}
