import type { Inside } from '../../core/inside.ts'
import { chain } from '../../primitives/awaitable.ts'
import { Look } from './look.ts'

/** A run that no storage has. */
const NO_RUN = 'run_healthz'

/**
 * Tells whether an engine is well: it is not closing, and its storage answers a small read in time. There is one read at a
 * time, however often this is asked: callers need no credential.
 */
export class HealthCheck {
  readonly #inside: Inside
  readonly #look: Look<true>

  constructor(inside: Inside) {
    this.#inside = inside
    this.#look = new Look(inside, () => chain(inside.host.storage.runs.get(NO_RUN), () => true as const))
  }

  async isHealthy(): Promise<boolean> {
    const { host } = this.#inside
    if (host.isClosing) return false
    return (await this.#look.take()) === true && !host.isClosing
  }
}
