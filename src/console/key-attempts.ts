/** So many wrong keys in a row are answered without a pause. */
const MOST_WRONG = 5
/** After each further one no key is looked at for so long. */
const PAUSE_MS = 10_000

/**
 * The wrong keys in a row, which slow down guessing. All attempts count together: there is no address that could be
 * trusted. A pause is short and no attempt makes it longer, so that an owner is never kept out for long.
 */
export class KeyAttempts {
  #wrong = 0
  #lastAt = 0

  /** How long no key is looked at, the right one included. 0: the next one is. */
  pauseMs(now: number): number {
    const passed = now - this.#lastAt
    // A clock that was set back ends the pause.
    if (this.#wrong < MOST_WRONG || passed < 0) return 0
    return Math.max(0, PAUSE_MS - passed)
  }

  wrong(now: number): void {
    this.#wrong += 1
    this.#lastAt = now
  }

  right(): void {
    this.#wrong = 0
  }
}
