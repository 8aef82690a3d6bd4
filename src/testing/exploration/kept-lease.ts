import type { Storage, TickRequest, TickResult } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { withOperations } from '../storages/wrapped.ts'

/** The end of a lease that is kept: after every schedule. */
const FAR = Date.UTC(9_999, 0)

export interface KeptLeaseOptions {
  readonly leaseMs: number
  /** Whether it is kept. If not, its engine renews it. */
  readonly isKept: () => boolean
}

/**
 * The lease of one process. It is kept while the process runs, so that hours of virtual time are not thousands of renewals;
 * it ends `leaseMs` after the process died or came to stand still, as if it had been renewed until then.
 */
export class KeptLease {
  readonly #storage: Storage
  readonly #leaseMs: number
  readonly #isKept: () => boolean
  #owner: string | undefined
  #isBehind = false

  constructor(storage: Storage, { leaseMs, isKept }: KeptLeaseOptions) {
    this.#storage = storage
    this.#leaseMs = leaseMs
    this.#isKept = isKept
  }

  /** The storage whose ticks keep the lease. */
  get storage(): Storage {
    return withOperations(this.#storage, { tick: (request) => this.#tick(request) })
  }

  /** Lets the lease run out. Answers the instant of its end; `undefined` if there is none. */
  letGo(now: number): number | undefined {
    if (this.#owner === undefined) return undefined
    const leaseUntil = now + this.#leaseMs
    void this.#storage.tick({ owner: this.#owner, leaseUntil, endless: false, census: false, now, limit: 0 })
    return leaseUntil
  }

  /** The next tick that looks at everything finds what hints have not told. */
  fallBehind(): void {
    this.#isBehind = true
  }

  #tick(request: TickRequest): ReturnType<Storage['tick']> {
    if (!this.#isKept()) return chain(this.#storage.tick(request), (result) => this.#noted(request, result))
    const asked = { ...request, leaseUntil: FAR, endless: false }
    return chain(this.#storage.tick(asked), (result) => this.#ticked(request, this.#noted(request, result)))
  }

  #noted({ owner }: TickRequest, result: TickResult): TickResult {
    if (result.alive) this.#owner = owner
    return result
  }

  #ticked({ leaseUntil, census }: TickRequest, result: TickResult): TickResult {
    const isBehind = this.#isBehind && census === true
    if (isBehind) this.#isBehind = false
    const { nextLease } = result
    return {
      ...result,
      nextLease: nextLease !== undefined && nextLease.at < FAR ? nextLease : undefined,
      // An engine whose lease has no end takes itself for alone, and does not look.
      leaseUntil: isBehind ? leaseUntil : undefined,
    }
  }
}
