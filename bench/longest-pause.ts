/** How often the event loop is looked at. */
const LOOK_MS = 1

/** Measures how long the event loop stands still: no timer fires and no I/O is read meanwhile. */
export class LongestPause {
  #seenAt = performance.now()
  #longestMs = 0
  readonly #timer = setInterval(() => this.#look(), LOOK_MS)

  /** The longest pause so far, in milliseconds. */
  stop(): number {
    clearInterval(this.#timer)
    this.#look()
    return this.#longestMs
  }

  #look(): void {
    const now = performance.now()
    this.#longestMs = Math.max(this.#longestMs, now - this.#seenAt)
    this.#seenAt = now
  }
}
