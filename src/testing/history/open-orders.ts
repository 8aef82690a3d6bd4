/**
 * What a storage does not tell of the order of answers: each choice of it is one of several, of which the first is the likely
 * one. Each try takes other ones, those with the fewest unlikely choices first.
 */
export class OpenOrders {
  /** The choices that the present try begins with. */
  #begun: readonly number[] = []
  /** The beginnings of later tries. */
  readonly #later: (readonly number[])[] = []
  readonly #chosen: number[] = []

  /** Which of so many comes next. */
  choose(count: number): number {
    const at = this.#chosen.length
    const known = this.#begun[at]
    const chosen = known !== undefined && known < count ? known : 0
    if (known === undefined)
      for (let other = 1; other < count; other += 1) this.#later.push([...this.#chosen, other])
    this.#chosen.push(chosen)
    return chosen
  }

  /** Begins another try; false when there is none left. */
  again(): boolean {
    const next = this.#later.shift()
    if (next === undefined) return false
    this.#begun = next
    this.#chosen.length = 0
    return true
  }
}
