/** A beginning of a try: the choices of an earlier one up to one that is made differently. */
interface Beginning {
  /** All that the earlier try made before it departed. */
  readonly choices: readonly number[]
  /** How far the earlier try went. */
  readonly reached: number
  readonly at: number
  readonly other: number
  /** How far the choice is from the departure, and how unlikely. */
  readonly cost: number
}

/** So many of the last choices of a try are made differently, each in fewer ways than that. */
const NEAREST = 16

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
    if (count === 1) return 0
    const begun = this.#begun[this.#chosen.length] ?? 0
    // Code outside of effects may do something else in each try.
    const choice = begun < count ? begun : 0
    this.#chosen.push({ choice, count })
    return choice
  }

  /** Begins another try, as this one has reached so many questions; false when there is none left. */
  again(reached: number): boolean {
    const choices = this.#chosen.map(({ choice }) => choice)
    const { length } = choices
    for (let at = length - 1; at >= Math.max(this.#begun.length, length - NEAREST); at -= 1) {
      const { count = 0 } = this.#chosen[at] ?? {}
      for (let other = 1; other < Math.min(count, NEAREST); other += 1)
        this.#later.push({ choices, reached, at, other, cost: length - at + other })
    }
    this.#later.sort((one, other) => other.reached - one.reached || one.cost - other.cost)
    const next = this.#later.shift()
    if (next === undefined) return false
    this.#begun = [...next.choices.slice(0, next.at), next.other]
    this.#chosen.length = 0
    return true
  }
}
