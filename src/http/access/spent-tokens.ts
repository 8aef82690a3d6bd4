import { Refusal } from '../refusal.ts'

/** Fewer than these are not worth looking for expired ones among them. */
const FEW = 1_000

/** Access tokens for one use that were used; kept until they would have expired. */
export class SpentTokens {
  readonly #expiresAt = new Map<string, number>()
  #sweepAt = FEW

  /**
   * Uses a token up; answers what gives the use back, for when nothing came of it.
   *
   * @throws Refusal 401 for one that is used up.
   */
  spend(
    credential: string,
    { expiresAt, now }: { readonly expiresAt: number; readonly now: number },
  ): () => void {
    if (this.#expiresAt.has(credential))
      throw new Refusal(401, 'Public Access Token was for one use, and is used up')
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
