import type { Awaitable } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Inside } from '../../core/inside.ts'

/** So long may the storage take to answer. */
const PATIENCE_MS = 2_000

/**
 * Looks at the storage for a probe. There is one look at a time for all that ask. One that takes too long is left alone, and told
 * so: the next caller has another one.
 */
export class Look<T> {
  readonly #inside: Inside
  readonly #read: (signal: AbortSignal) => Awaitable<T>
  #looking: Promise<T | undefined> | undefined

  constructor(inside: Inside, read: (signal: AbortSignal) => Awaitable<T>) {
    this.#inside = inside
    this.#read = read
  }

  /** What was read; `undefined` if the storage has failed, or was too slow. */
  take(): Promise<T | undefined> {
    return (this.#looking ??= this.#look())
  }

  async #look(): Promise<T | undefined> {
    const { host } = this.#inside
    const { promise, resolve } = createDeferred<T | undefined>()
    const about = { label: 'a look at the health of the storage', background: true }
    const cancel = host.clock.setTimer(host.now() + PATIENCE_MS, () => resolve(undefined), about)
    const late = new AbortController()
    unawaited(
      () => chain(this.#inside.open(), () => chain(this.#read(late.signal), resolve)),
      () => resolve(undefined),
    )
    try {
      return await promise
    } finally {
      cancel()
      late.abort()
      this.#looking = undefined
    }
  }
}
