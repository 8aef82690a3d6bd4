interface SequenceRange {
  first: number
  /** The sequence after the last one. */
  next: number
}

/** Taken ranges at the front of the list that are kept until it is worth cutting them off. */
const MOST_TAKEN = 64

/**
 * Ascending sequence numbers, taken from the low end. Those in a row are one range, so that a long series costs no
 * more than a short one.
 *
 * @example
 * ```ts
 * const own = new SequenceRanges()
 * for (const sequence of [0, 1, 5]) own.add(sequence)
 * own.first // 0
 * own.dropBefore(4) // 2
 * own.first // 5
 * ```
 */
export class SequenceRanges {
  #ranges: SequenceRange[] = []
  /** Where the ranges begin that are not empty. */
  #head = 0

  /** The lowest one. */
  get first(): number | undefined {
    return this.#ranges[this.#head]?.first
  }

  /** The sequence after the row that begins with the lowest one. */
  get endOfRow(): number {
    return this.#ranges[this.#head]?.next ?? 0
  }

  /** How many rows there are. */
  get rows(): number {
    return this.#ranges.length - this.#head
  }

  /** All of them: the first and the last of each row. */
  get all(): readonly (readonly [first: number, last: number])[] {
    return this.#ranges.slice(this.#head).map(({ first, next }) => [first, next - 1])
  }

  /** Adds one that is higher than all that were added before. */
  add(sequence: number): void {
    const last = this.#ranges.at(-1)
    if (last?.next === sequence) {
      last.next += 1
      if (this.#head === this.#ranges.length) this.#head -= 1
    } else this.#ranges.push({ first: sequence, next: sequence + 1 })
  }

  /** Forgets those below `sequence`; answers how many. */
  dropBefore(sequence: number): number {
    let dropped = 0
    for (;;) {
      const range = this.#ranges[this.#head]
      if (range === undefined || range.first >= sequence) break
      const first = Math.min(range.next, sequence)
      dropped += first - range.first
      range.first = first
      if (first < range.next) break
      this.#head += 1
    }
    if (this.#head > MOST_TAKEN && this.#head * 2 > this.#ranges.length) this.#cutTaken()
    return dropped
  }

  /** Makes those from `from` on higher by so many. */
  shift(from: number, by: number): void {
    for (let at = this.#ranges.length - 1; at >= this.#head; at -= 1) {
      const range = this.#ranges[at]
      if (range === undefined || range.next <= from) return
      const first = Math.max(range.first, from)
      if (first > range.first) {
        this.#ranges.splice(at + 1, 0, { first: first + by, next: range.next + by })
        range.next = first
      } else {
        range.first += by
        range.next += by
      }
    }
  }

  #cutTaken(): void {
    this.#ranges = this.#ranges.slice(this.#head)
    this.#head = 0
  }
}
