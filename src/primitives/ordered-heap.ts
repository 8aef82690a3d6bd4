/** An entry of an {@link OrderedHeap}. Entries are ordered by rank, then by instant, then by the order of arrival. */
export interface Ordered {
  readonly rank: number
  readonly at: number
  readonly order: number
  /** Index in the heap that holds it, {@link NOWHERE} when none does. Written by the heap only. */
  place: number
}

export const NOWHERE = -1

/**
 * The first in line, among any number of items that may leave at any time.
 *
 * `add` and `remove` are O(log n) and O(1) at the end of the line. Items know their own place, so that nothing is
 * allocated for one; an item is in one heap at a time, and its sort fields stay as they are while it is.
 */
export class OrderedHeap<T extends Ordered> {
  readonly #items: T[] = []

  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#rise(item, this.#items.length)
  }

  /** Takes `item` out; it must be in this heap. */
  remove(item: T): void {
    const last = this.#items.pop()
    const hole = item.place
    item.place = NOWHERE
    if (last !== undefined && last !== item) this.#rise(last, this.#sink(hole))
  }

  #rise(item: T, index: number): void {
    let hole = index
    while (hole > 0) {
      const parentIndex = (hole - 1) >> 1
      const parent = this.#items[parentIndex]
      if (parent === undefined || !isBefore(item, parent)) break
      this.#put(parent, hole)
      hole = parentIndex
    }
    this.#put(item, hole)
  }

  /** Moves a hole to the bottom, where the last item, which comes to fill it, belongs as a rule: half of the comparisons. */
  #sink(index: number): number {
    let hole = index
    for (;;) {
      const left = this.#items[hole * 2 + 1]
      const right = this.#items[hole * 2 + 2]
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left
      if (child === undefined) return hole
      const childIndex = child.place
      this.#put(child, hole)
      hole = childIndex
    }
  }

  #put(item: T, index: number): void {
    this.#items[index] = item
    item.place = index
  }
}

export function isBefore(one: Ordered, other: Ordered): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank
  if (one.at !== other.at) return one.at < other.at
  return one.order < other.order
}
