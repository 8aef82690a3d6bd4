/** How many sizes are known. A power of two, so that a sequence finds its slot with one bitwise `and`. */
const KNOWN = 16

/**
 * How large the newest values of a series are. Hot: adding one writes one number.
 *
 * @example
 * ```ts
 * const sizes = new RecentSizes()
 * for (const bytes of [100, 20, 3]) sizes.add(bytes)
 * sizes.ofLast(2) // 23
 * ```
 */
export class RecentSizes {
  /** The size of everything before a value, in the value's slot. */
  readonly #before = new Float64Array(KNOWN)
  #count = 0
  #total = 0

  /** Adds the size of the next value. */
  add(bytes: number): void {
    this.#before[this.#count & (KNOWN - 1)] = this.#total
    this.#count += 1
    this.#total += bytes
  }

  /** The size of the last `count` values together: `Infinity` when these are too many to know. */
  ofLast(count: number): number {
    if (count <= 0) return 0
    if (count > KNOWN) return Infinity
    return this.#total - (this.#before[(this.#count - count) & (KNOWN - 1)] ?? 0)
  }
}
