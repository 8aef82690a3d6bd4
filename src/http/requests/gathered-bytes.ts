const LEAST = 1_024

/**
 * Bytes that come piece by piece, in one place: pieces of a byte each, as a sender may cut them, would take a hundred
 * times the memory that they say, and to copy them all again for each takes hours.
 */
export class GatheredBytes {
  #bytes = new Uint8Array()
  #size = 0

  /** How many there are. */
  get size(): number {
    return this.#size
  }

  /** How many there is room for: twice as many as there ever were, at most, or a few. */
  get capacity(): number {
    return this.#bytes.length
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length, LEAST))
      larger.set(this.#bytes.subarray(0, this.#size))
      this.#bytes = larger
    }
    this.#bytes.set(piece, this.#size)
    this.#size = size
  }

  /** All there are, once: from then on there are none. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#size)
    this.#bytes = new Uint8Array()
    this.#size = 0
    return taken
  }
}
