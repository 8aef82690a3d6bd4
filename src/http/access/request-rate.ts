import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** Fewer credentials than these are not worth looking for idle ones among them. */
const FEW = 1_000

/**
 * How often each credential asks. Requests are spaced evenly, with as many at once as the limit has: what is kept of a
 * credential is one instant, and nothing once it has rested.
 */
export class RequestRate {
  readonly #now: () => number
  readonly #perMs: number
  readonly #spacingMs: number
  /** When each credential will have rested. */
  readonly #restedAt = new Map<string, number>()
  #sweepAt = FEW

  constructor({ requests, perMs }: NonNullable<Limits['rate']>, now: () => number) {
    this.#now = now
    this.#perMs = perMs
    this.#spacingMs = perMs / requests
  }

  /** Counts one request. @throws Refusal 429 for one too many, which is not counted. */
  count(credential: string): void {
    const now = this.#now()
    // A clock that was set back makes nobody wait longer than a whole period.
    const restedAt = Math.min(Math.max(this.#restedAt.get(credential) ?? now, now), now + this.#perMs)
    const waitMs = restedAt + this.#spacingMs - this.#perMs - now
    // A millisecond is the smallest thing a clock tells: less is the error of the division.
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
    'x-ratelimit-reset': `${Math.ceil(now + waitMs)}`,
  }
  return new Refusal(429, 'Too many requests', { headers })
}
