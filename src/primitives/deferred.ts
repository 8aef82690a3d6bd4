import pDefer from 'p-defer'

/** A promise and the two functions that settle it; the first call counts. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | PromiseLike<T>) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Creates a promise that is settled from outside.
 *
 * @example
 * ```ts
 * const { promise, resolve } = createDeferred<string>()
 * resolve('ready')
 * await promise // 'ready'
 * ```
 */
export function createDeferred<T>(): Deferred<T> {
  return pDefer<T>()
}
