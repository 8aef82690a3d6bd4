/** The header in which the published client gives a request its name. */
export const REQUEST_NAME = 'x-trigger-request-idempotency-key'

/** Clients repeat a request within seconds; by then hardly more others have come. */
const MOST = 1_000
const LONGEST_NAME = 128

/**
 * What requests were answered that say under which name they would be repeated: whoever lost the answer, and asks again,
 * gets that answer, and nothing happens twice. A request that failed did nothing: its repetition is served.
 */
export class RepeatedRequests<Answer> {
  /** The oldest first. */
  readonly #answers = new Map<string, Promise<Answer>>()

  /** Serves a request, or answers as the first one of this name was. `whose` keeps the names of callers apart. */
  serve(whose: string, name: string | undefined, answer: () => Promise<Answer>): Promise<Answer> {
    if (name === undefined || name === '' || name.length > LONGEST_NAME) return answer()
    const key = `${whose} ${name}`
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
