import type { TokenStatus } from '../../contract/records.ts'

/** When the questions of a run were asked and answered in one execution, in the order of events. */
export class ToldOrder {
  readonly #asked = new Map<string, number>()
  readonly #answered = new Map<string, { readonly at: number; readonly outcome: TokenStatus }>()
  #events = 0

  /** A question that is asked again was asked at the first time. */
  asked(id: string): void {
    if (!this.#asked.has(id)) this.#asked.set(id, (this.#events += 1))
  }

  answered(id: string, outcome: TokenStatus): void {
    if (!this.#answered.has(id)) this.#answered.set(id, { at: (this.#events += 1), outcome })
  }

  /** How a question was answered, if it was. */
  outcome(id: string): TokenStatus | undefined {
    return this.#answered.get(id)?.outcome
  }

  /**
   * Whether of two questions that were open at the same time, here or there, the same one was answered first: no race had another
   * winner.
   */
  isInOrderOf(other: ToldOrder): boolean {
    const both = [...this.#asked.keys()].filter((id) => other.#asked.has(id))
    return both.every((one, place) =>
      both.slice(place + 1).every((two) => {
        const wereOpen = this.#wereOpen(one, two) || other.#wereOpen(one, two)
        return !wereOpen || this.#first(one, two) === other.#first(one, two)
      }),
    )
  }

  #wereOpen(one: string, two: string): boolean {
    const asked = Math.max(this.#asked.get(one) ?? Infinity, this.#asked.get(two) ?? Infinity)
    return asked < Math.min(this.#answeredAt(one), this.#answeredAt(two))
  }

  /** Which of two was answered first, if one was. */
  #first(one: string, two: string): string | undefined {
    const [at, otherAt] = [this.#answeredAt(one), this.#answeredAt(two)]
    if (at === otherAt) return undefined
    return at < otherAt ? one : two
  }

  #answeredAt(id: string): number {
    return this.#answered.get(id)?.at ?? Infinity
  }
}
