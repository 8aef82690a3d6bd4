/** A beginning of a try: all choices of an earlier one up to one that is made differently. */
interface Beginning {
  readonly choices: readonly number[]
  /** How many choices the earlier try made before it departed. */
  readonly reached: number
  /** How far the choice is from the departure, and how unlikely. */
  readonly cost: number
}

/** Of one try, the choices that are further from its departure are not made differently. */
const MOST_COST = 16

/**
 * What a storage does not tell of the order of answers: each choice of it is one of several, of which the first is the likely
 * one. Each try makes one choice of an earlier try differently: of those that went furthest, and there one shortly before the
 * departure.
 */
export class OpenOrders {
  /** The choices that the present try begins with. */
  #begun: readonly number[] = []
  readonly #later: Beginning[] = []
  readonly #chosen: { readonly choice: number; readonly count: number }[] = []

  /** Which of so many comes next. */
  choose(count: number): number {
    const choice = this.#begun[this.#chosen.length] ?? 0
    this.#chosen.push({ choice, count })
    return choice
  }

  /** Begins another try; false when there is none left. */
  again(): boolean {
    const choices = this.#chosen.map(({ choice }) => choice)
    const { length: reached } = choices
    for (let at = reached - 1; at >= Math.max(this.#begun.length, reached - MOST_COST); at -= 1) {
      const { count = 0 } = this.#chosen[at] ?? {}
      for (let other = 1; other < Math.min(count, MOST_COST); other += 1)
        this.#later.push({ choices: [...choices.slice(0, at), other], reached, cost: reached - at + other })
    }
    this.#later.sort((one, other) => other.reached - one.reached || one.cost - other.cost)
    const next = this.#later.shift()
    if (next === undefined) return false
    this.#begun = next.choices
    this.#chosen.length = 0
    return true
  }
}
