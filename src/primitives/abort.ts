type AbortListener = (reason: unknown) => void

/**
 * One listener per signal, shared by all calls of `onAbort`: an `AbortSignal` keeps its listeners in a list that it
 * walks for every one added or removed (10,000 of them cost 200 ms), and from the eleventh on Node prints a warning.
 */
const hubs = new WeakMap<AbortSignal, AbortHub>()

/**
 * Calls `listener` once with the reason when `signal` aborts; synchronously, before this returns, when it already
 * has. A listener that throws does not keep the others from being called.
 *
 * @returns A function that removes the listener; calling it again does nothing.
 *
 * @example
 * ```ts
 * const remove = onAbort(signal, (reason) => deferred.reject(reason))
 * deferred.promise.then(remove, remove)
 * ```
 */
export function onAbort(signal: AbortSignal | undefined, listener: AbortListener): () => void {
  if (signal === undefined) return doNothing
  if (signal.aborted) {
    listener(signal.reason)
    return doNothing
  }
  return hubOf(signal).add(listener)
}

/** Throws the reason of `signal` when it is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  signal?.throwIfAborted()
}

function hubOf(signal: AbortSignal): AbortHub {
  const known = hubs.get(signal)
  if (known !== undefined) return known
  const hub = new AbortHub(signal)
  hubs.set(signal, hub)
  return hub
}

/** The listeners of one signal; it listens to the signal only while it has any. */
class AbortHub {
  readonly #signal: AbortSignal
  /** By a key of their own, so that one function may listen twice. */
  readonly #listeners = new Map<symbol, AbortListener>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  add(listener: AbortListener): () => void {
    const key = Symbol()
    if (this.#listeners.size === 0) this.#signal.addEventListener('abort', this.#notify, { once: true })
    this.#listeners.set(key, listener)
    return () => {
      const removed = this.#listeners.delete(key)
      if (removed && this.#listeners.size === 0) this.#signal.removeEventListener('abort', this.#notify)
    }
  }

  readonly #notify = (): void => {
    const failures: unknown[] = []
    for (const listener of this.#listeners.values()) {
      try {
        listener(this.#signal.reason)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'Cannot finish an abort: listeners threw')
  }
}

function doNothing(): void {
  // There is nothing to remove.
}
