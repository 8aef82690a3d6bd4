/** Clients repeat a request within seconds. Within that time hardly more other requests arrive. */
const MOST = 1_000
const LONGEST_NAME = 128

/**
 * The answers to named requests. A client that lost an answer repeats the request under its name and gets the first
 * answer again; nothing happens twice. A failed request had no effect, so its repetition is served anew.
 */
export class RepeatedRequests<Answer> {
  /** Oldest first. */
  readonly #answers = new Map<string, Promise<Answer>>()

  /** Whether the first answer to a request of this name is kept. */
  has(whose: string, name: string | undefined): boolean {
    return name !== undefined && this.#answers.has(keyOf(whose, name))
  }

  /**
   * Serves a request, or repeats the answer to the first request of this name. `whose` separates the names of different
   * callers.
   */
  serve(whose: string, name: string | undefined, answer: () => Promise<Answer>): Promise<Answer> {
    if (name === undefined || name === '' || name.length > LONGEST_NAME) return answer()
    const key = keyOf(whose, name)
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const answering = answer()
    this.#answers.set(key, answering)
    answering.catch(() => this.#answers.delete(key))
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > MOST && oldest !== undefined) this.#answers.delete(oldest)
    return answering
  }
}

function keyOf(whose: string, name: string): string {
  return `${whose} ${name}`
}
