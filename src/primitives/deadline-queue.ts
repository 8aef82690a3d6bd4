/** One entry of a {@link DeadlineQueue}: a value and its instant. */
export interface Deadline<T> {
  readonly at: number
  readonly value: T
}

/** Four, so that `(index - 1) >> 2` is the parent. */
const CHILDREN = 4

/**
 * The next deadline among any number of them. Each may be canceled.
 *
 * Deadlines come out in the order of their instants, those of the same instant in the order they were added.
 * `add`, `cancel` and `pop` are O(log n): a heap with four children per parent, half as deep as a binary one,
 * whose entries know their own index, so that a canceled one leaves at once and holds nothing in memory.
 *
 * @example
 * ```ts
 * const queue = new DeadlineQueue<string>()
 * const slow = queue.add(2_000, 'slow')
 * queue.add(1_000, 'quick')
 * queue.cancel(slow) // true
 * queue.popDue(1_500)?.value // 'quick'
 * ```
 */
export class DeadlineQueue<T> {
  readonly #heap: Entry<T>[] = []
  /** `at` of every entry of the heap: side by side, as finding the earliest child would else wait for memory. */
  readonly #instants: number[] = []
  #added = 0

  /** Number of deadlines still in the queue. */
  get size(): number {
    return this.#heap.length
  }

  /**
   * Adds `value`, due at the instant `at`.
   *
   * @throws RangeError when `at` is not a finite number.
   */
  add(at: number, value: T): Deadline<T> {
    if (!Number.isFinite(at)) throw new RangeError(`Cannot add a deadline at "${at}": use a finite number`)
    const entry = new Entry(at, value, this.#added++)
    this.#rise(entry, this.#heap.length)
    return entry
  }

  /** Takes `deadline` out; false when it is not, or no longer, in this queue. */
  cancel(deadline: Deadline<unknown>): boolean {
    const entry = deadline instanceof Entry ? this.#heap[deadline.index] : undefined
    if (entry === undefined || entry !== deadline) return false
    this.#remove(entry)
    return true
  }

  /** The earliest deadline, left in the queue. */
  peek(): Deadline<T> | undefined {
    return this.#heap[0]
  }

  /** The earliest deadlines, at most `limit`, left in the queue. The others are not looked at. */
  first(limit: number): readonly Deadline<T>[] {
    const found: Deadline<T>[] = []
    const next = this.#heap.slice(0, 1)
    while (found.length < limit) {
      next.sort((one, other) => (isBefore(one, other) ? 1 : -1))
      const earliest = next.pop()
      if (earliest === undefined) break
      found.push(earliest)
      const child = earliest.index * CHILDREN + 1
      next.push(...this.#heap.slice(child, child + CHILDREN))
    }
    return found
  }

  /** Takes out the earliest deadline. */
  pop(): Deadline<T> | undefined {
    const earliest = this.#heap[0]
    if (earliest !== undefined) this.#remove(earliest)
    return earliest
  }

  /** Takes out the earliest deadline if it is due at `now`, the instant itself included. */
  popDue(now: number): Deadline<T> | undefined {
    const earliest = this.#heap[0]
    if (earliest === undefined || earliest.at > now) return undefined
    this.#remove(earliest)
    return earliest
  }

  #remove(entry: Entry<T>): void {
    const index = entry.index
    const last = this.#heap.pop()
    this.#instants.pop()
    if (last === undefined || last === entry) return

    const parent = this.#heap[(index - 1) >> 2]
    if (index > 0 && parent !== undefined && isBefore(last, parent)) this.#rise(last, index)
    else this.#sink(last, index)
  }

  /** Moves the hole at `index` up to where `entry` belongs, and fills it. */
  #rise(entry: Entry<T>, index: number): void {
    let hole = index
    while (hole > 0) {
      const parentIndex = (hole - 1) >> 2
      const parent = this.#heap[parentIndex]
      if (parent === undefined || !isBefore(entry, parent)) break
      this.#put(parent, hole)
      hole = parentIndex
    }
    this.#put(entry, hole)
  }

  /** Moves the hole at `index` down to where `entry` belongs, and fills it. */
  #sink(entry: Entry<T>, index: number): void {
    let hole = index
    for (;;) {
      const childIndex = this.#earliestChild(hole)
      const child = this.#heap[childIndex]
      if (child === undefined || !isBefore(child, entry)) break
      this.#put(child, hole)
      hole = childIndex
    }
    this.#put(entry, hole)
  }

  /** Index of the child of `parent` that is due first; past the end when it has none. */
  #earliestChild(parent: number): number {
    const instants = this.#instants
    let earliest = parent * CHILDREN + 1
    const end = Math.min(earliest + CHILDREN, instants.length)
    for (let index = earliest + 1; index < end; index++) {
      const at = instants[index] ?? Infinity
      const earliestAt = instants[earliest] ?? Infinity
      if (at < earliestAt || (at === earliestAt && this.#wasAddedBefore(index, earliest))) earliest = index
    }
    return earliest
  }

  #wasAddedBefore(index: number, other: number): boolean {
    return (this.#heap[index]?.order ?? Infinity) < (this.#heap[other]?.order ?? Infinity)
  }

  #put(entry: Entry<T>, index: number): void {
    this.#heap[index] = entry
    this.#instants[index] = entry.at
    entry.index = index
  }
}

class Entry<T> implements Deadline<T> {
  readonly at: number
  readonly value: T
  readonly order: number
  /** Where the entry is in the heap, or was when it left: only the heap itself says whether it is there. */
  index = 0

  constructor(at: number, value: T, order: number) {
    this.at = at
    this.value = value
    this.order = order
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
