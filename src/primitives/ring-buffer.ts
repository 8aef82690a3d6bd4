/** The limits of a {@link RingBuffer}, and the start of its numbering. */
export interface RingBufferOptions {
  /** Values kept at most; a whole number, at least 1. */
  readonly capacity: number
  /** Bytes kept at most, as counted by the callers of `push`. Default: no limit. */
  readonly maxBytes?: number
  /** Sequence of the first value pushed. Default: 0. */
  readonly first?: number
}

const SMALLEST_ALLOCATION = 16

/**
 * The newest values of an endless series, each under its sequence number.
 *
 * `push` is hot (a few nanoseconds) and writes one slot. Slots are allocated as they fill up, and the room is
 * always a power of two, so that a sequence finds its slot with one bitwise `and`.
 *
 * @example
 * ```ts
 * const ring = new RingBuffer<string>({ capacity: 2 })
 * for (const word of ['a', 'b', 'c']) ring.push(word)
 * ring.first // 1: 'a' is gone
 * ring.read(ring.first, 10) // ['b', 'c']
 * ```
 */
export class RingBuffer<T> {
  readonly #capacity: number
  readonly #maxBytes: number
  #values: (T | undefined)[] = []
  #sizes: number[] = []
  #mask = 0
  #first: number
  #next: number
  #bytes = 0

  /** @throws RangeError when a limit is not positive or `first` is not a sequence. */
  constructor({ capacity, maxBytes = Infinity, first = 0 }: RingBufferOptions) {
    if (!(Number.isSafeInteger(capacity) && capacity >= 1)) {
      throw new RangeError(`Cannot create a ring of capacity "${capacity}": use a whole number, at least 1`)
    }
    if (!(maxBytes > 0))
      throw new RangeError(`Cannot create a ring of "${maxBytes}" bytes: use a number above 0`)
    if (!(Number.isSafeInteger(first) && first >= 0)) {
      throw new RangeError(`Cannot start a ring at sequence "${first}": use a whole number, at least 0`)
    }
    this.#capacity = capacity
    this.#maxBytes = maxBytes
    this.#first = first
    this.#next = first
  }

  /** Sequence of the oldest value kept; equal to `next` when there is none. */
  get first(): number {
    return this.#first
  }

  /** Sequence the next value pushed will get. */
  get next(): number {
    return this.#next
  }

  /** Bytes of all values kept. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Appends `value` and returns its sequence. The oldest values make room for it; the newest one is kept even
   * when it alone is larger than `maxBytes`.
   *
   * @throws RangeError when `bytes` is not a whole number, at least 0.
   */
  push(value: T, bytes = 0): number {
    if (!(Number.isSafeInteger(bytes) && bytes >= 0)) {
      throw new RangeError(`Cannot push a value of "${bytes}" bytes: use a whole number, at least 0`)
    }
    const sequence = this.#next
    if (sequence - this.#first === this.#capacity) this.#evict()
    if (sequence - this.#first === this.#values.length) this.#grow()

    const slot = sequence & this.#mask
    this.#values[slot] = value
    this.#sizes[slot] = bytes
    this.#bytes += bytes
    this.#next = sequence + 1
    while (this.#bytes > this.#maxBytes && this.#first < sequence) this.#evict()
    return sequence
  }

  /**
   * Up to `limit` values in a row, the first of them at sequence `from`; none at or after `next`.
   *
   * @throws RangeError when `from` is before `first`: those values are gone.
   */
  read(from: number, limit: number): T[] {
    if (!(from >= this.#first)) {
      throw new RangeError(`Cannot read sequence "${from}": the oldest one kept is ${this.#first}`)
    }
    const end = Math.min(from + limit, this.#next)
    const values: T[] = []
    for (let sequence = from; sequence < end; sequence++) {
      // Slots from `first` to `next` hold what was pushed, so this `undefined` can only be a T.
      values.push(this.#values[sequence & this.#mask] as T)
    }
    return values
  }

  /** Forgets every value and gives the memory back; the numbering goes on. */
  clear(): void {
    this.#values = []
    this.#sizes = []
    this.#mask = 0
    this.#first = this.#next
    this.#bytes = 0
  }

  #evict(): void {
    const slot = this.#first & this.#mask
    this.#values[slot] = undefined
    this.#bytes -= this.#sizes[slot] ?? 0
    this.#first += 1
  }

  #grow(): void {
    const room = Math.max(SMALLEST_ALLOCATION, this.#values.length * 2)
    const mask = room - 1
    const values = new Array<T | undefined>(room)
    const sizes = new Array<number>(room)
    for (let sequence = this.#first; sequence < this.#next; sequence++) {
      values[sequence & mask] = this.#values[sequence & this.#mask]
      sizes[sequence & mask] = this.#sizes[sequence & this.#mask] ?? 0
    }
    this.#values = values
    this.#sizes = sizes
    this.#mask = mask
  }
}
