import type { Kernel } from '../../core/kernel.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'

/** So long may the storage take to answer. */
const PATIENCE_MS = 2_000
/** A run that no storage has. */
const NO_RUN = 'run_healthz'

/**
 * Tells whether an engine is well: it is not closing, and its storage answers a small read in time. There is one read at a
 * time, however often this is asked: callers need no credential.
 */
export class HealthCheck {
  readonly #kernel: Kernel
  #look: Promise<boolean> | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  async isHealthy(): Promise<boolean> {
    const { host } = this.#kernel
    if (host.isClosing) return false
    this.#look ??= this.#lookOnce()
    return (await this.#look) && !host.isClosing
  }

  async #lookOnce(): Promise<boolean> {
    const { host } = this.#kernel
    const { promise, resolve } = createDeferred<boolean>()
    const about = { label: 'a look at the health of the storage', background: true }
    const cancel = host.clock.setTimer(host.now() + PATIENCE_MS, () => resolve(false), about)
    const read = (): unknown => chain(host.storage.runs.get(NO_RUN), () => resolve(true))
    unawaited(
      () => chain(this.#kernel.open(), read),
      () => resolve(false),
    )
    try {
      return await promise
    } finally {
      cancel()
      // A read that came too late is not waited for any more: the next caller has one of its own.
      this.#look = undefined
    }
  }
}
