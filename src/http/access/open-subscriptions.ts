import { Refusal } from '../refusal.ts'

/** The number of open subscriptions of each credential. */
export class OpenSubscriptions {
  readonly #most: number
  readonly #counts = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** The number of open subscriptions of all credentials. */
  get size(): number {
    let size = 0
    for (const count of this.#counts.values()) size += count
    return size
  }

  /**
   * Counts a subscription in. The returned function counts it out again, once, however often it is called.
   *
   * @throws Refusal 429 when the credential has as many as it may have.
   */
  open(credential: string): () => void {
    const count = this.#counts.get(credential) ?? 0
    if (count >= this.#most) {
      const message = `Cannot open a subscription: this credential has ${count} open, and no more are allowed`
      throw new Refusal(429, message, { headers: { 'retry-after': '1' } })
    }
    this.#counts.set(credential, count + 1)
    let isOpen = true
    return () => {
      if (isOpen) this.#close(credential)
      isOpen = false
    }
  }

  #close(credential: string): void {
    const left = (this.#counts.get(credential) ?? 0) - 1
    if (left > 0) this.#counts.set(credential, left)
    else this.#counts.delete(credential)
  }
}
