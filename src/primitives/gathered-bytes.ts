const LEAST = 1_024

/**
 * Collects bytes in one growing buffer. A sender may cut a body into pieces of one byte: a list of such pieces would
 * take a hundred times their memory, and copying all bytes for each piece would take hours.
 */
export class GatheredBytes {
  #bytes = new Uint8Array()
  #size = 0

  /** The number of bytes collected. */
  get size(): number {
    return this.#size
  }

  /** The size of the buffer: at most twice the largest number of bytes so far, plus a small constant. */
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

  /** Returns all bytes and empties the buffer. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#size)
    this.#bytes = new Uint8Array()
    this.#size = 0
    return taken
  }
}
