/** Below this many places that were given up the list is not worth packing. */
const WORTH_PACKING = 64

/**
 * Items that wait in line. Joining at either end and taking the first cost the same however long the line is: `shift` and
 * `unshift` of an array move all others.
 *
 * @example
 * ```ts
 * const line = new Deque<string>()
 * line.push('second')
 * line.unshift('first')
 * line.shift() // 'first'
 * ```
 */
export class Deque<T> {
  /** Items that were put before the others, the first of them last. */
  readonly #front: T[] = []
  /** The others in order, from `#next` on. */
  #items: (T | undefined)[] = []
  #next = 0

  get length(): number {
    return this.#front.length + this.#items.length - this.#next
  }

  /** Puts an item behind all others. */
  push(item: T): void {
    this.#items.push(item)
  }

  /** Puts an item before all others. */
  unshift(item: T): void {
    this.#front.push(item)
  }

  /** Takes the first item; nothing if the line is empty. */
  shift(): T | undefined {
    if (this.#front.length > 0) return this.#front.pop()
    if (this.#next === this.#items.length) return undefined
    const item = this.#items[this.#next]
    this.#items[this.#next] = undefined
    this.#next += 1
    if (this.#next >= WORTH_PACKING && this.#next * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#next)
      this.#next = 0
    }
    return item
  }
}
