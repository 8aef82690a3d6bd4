/** One entry of a {@link BinaryHeap}. */
export interface HeapEntry<T> {
  readonly at: number
  readonly order: number
  readonly value: T
  isCanceled: boolean
}

/**
 * A textbook binary heap in an array: the earliest instant first, equal instants in order of insertion. A canceled
 * entry is marked and removed when it comes up, because a textbook heap has no other way.
 */
export class BinaryHeap<T> {
  readonly #entries: HeapEntry<T>[] = []
  #added = 0

  add(at: number, value: T): HeapEntry<T> {
    const entry = { at, order: this.#added++, value, isCanceled: false }
    this.#rise(entry)
    return entry
  }

  /** The earliest due entry that is not canceled. Canceled entries before it are removed. */
  popDue(now: number): HeapEntry<T> | undefined {
    for (;;) {
      const first = this.#entries[0]
      if (first === undefined || first.at > now) return undefined
      const last = this.#entries.pop()
      if (last !== undefined && last !== first) this.#sink(last)
      if (!first.isCanceled) return first
    }
  }

  #rise(entry: HeapEntry<T>): void {
    const entries = this.#entries
    let hole = entries.length
    while (hole > 0) {
      const parent = entries[(hole - 1) >> 1]
      if (parent === undefined || !isBefore(entry, parent)) break
      entries[hole] = parent
      hole = (hole - 1) >> 1
    }
    entries[hole] = entry
  }

  #sink(entry: HeapEntry<T>): void {
    const entries = this.#entries
    let hole = 0
    for (;;) {
      let index = hole * 2 + 1
      let child = entries[index]
      const right = entries[index + 1]
      if (child === undefined) break
      if (right !== undefined && isBefore(right, child)) {
        child = right
        index += 1
      }
      if (!isBefore(child, entry)) break
      entries[hole] = child
      hole = index
    }
    entries[hole] = entry
  }
}

function isBefore(one: HeapEntry<unknown>, other: HeapEntry<unknown>): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
