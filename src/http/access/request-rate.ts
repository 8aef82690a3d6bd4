import { RATE_RESET } from '../../hosted/headers.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** Below this number of credentials, idle ones are not searched for. */
const FEW = 1_000

/**
 * Limits how often each credential may ask. Requests are spaced evenly; a burst may be as large as the limit. Each
 * credential costs one stored instant, and nothing after it has rested.
 */
export class RequestRate {
  readonly #now: () => number
  readonly #perMs: number
  readonly #spacingMs: number
  /** For each credential, the instant from which it has its full burst again. */
  readonly #restedAt = new Map<string, number>()
  #sweepAt = FEW

  constructor({ requests, perMs }: NonNullable<Limits['rate']>, now: () => number) {
    this.#now = now
    this.#perMs = perMs
    this.#spacingMs = perMs / requests
  }

  /**
   * Counts one request.
   *
   * @throws Refusal 429 if the request exceeds the limit; such a request is not counted.
   */
  count(credential: string): void {
    const now = this.#now()
    // A clock that was set back must not make a caller wait longer than one period.
    const restedAt = Math.min(Math.max(this.#restedAt.get(credential) ?? now, now), now + this.#perMs)
    const waitMs = restedAt + this.#spacingMs - this.#perMs - now
    // Differences below one millisecond are rounding errors of the division.
    const isRefused = waitMs > 1e-3
    this.#restedAt.set(credential, isRefused ? restedAt : restedAt + this.#spacingMs)
    if (isRefused) throw tooMany(now, waitMs)
    if (this.#restedAt.size > this.#sweepAt) this.#sweep(now)
  }

  #sweep(now: number): void {
    for (const [credential, restedAt] of this.#restedAt) {
      if (restedAt <= now) this.#restedAt.delete(credential)
    }
    this.#sweepAt = Math.max(FEW, 2 * this.#restedAt.size)
  }
}

function tooMany(now: number, waitMs: number): Refusal {
  const headers = {
    'retry-after': `${Math.ceil(waitMs / 1_000)}`,
    [RATE_RESET]: `${Math.ceil(now + waitMs)}`,
  }
  return new Refusal(429, 'Too many requests', { headers })
}
