import { Refusal } from '../refusal.ts'

/** Below this number of tokens, expired ones are not searched for. */
const FEW = 1_000

/** The one-time access tokens that were used, kept until they expire. */
export class SpentTokens {
  readonly #expiresAt = new Map<string, number>()
  #sweepAt = FEW

  has(credential: string): boolean {
    return this.#expiresAt.has(credential)
  }

  /** @throws Refusal 401 for one that is used up. */
  refuse(credential: string): void {
    if (this.has(credential))
      throw new Refusal(401, 'Public Access Token may be used once, and was used already')
  }

  /**
   * Uses a token up. The returned function gives the use back after a failure.
   *
   * @throws Refusal 401 for one that is used up.
   */
  spend(
    credential: string,
    { expiresAt, now }: { readonly expiresAt: number; readonly now: number },
  ): () => void {
    this.refuse(credential)
    if (this.#expiresAt.size >= this.#sweepAt) this.#sweep(now)
    this.#expiresAt.set(credential, expiresAt)
    return () => this.#expiresAt.delete(credential)
  }

  #sweep(now: number): void {
    for (const [credential, expiresAt] of this.#expiresAt) {
      if (expiresAt <= now) this.#expiresAt.delete(credential)
    }
    this.#sweepAt = Math.max(FEW, 2 * this.#expiresAt.size)
  }
}
