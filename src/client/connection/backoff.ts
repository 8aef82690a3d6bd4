import { retryDelayMs } from '../../api/retry.ts'
import { isUnavailable } from './api-error.ts'
import type { ClientSettings } from './options.ts'
import type { Clock } from '../../contract/clock.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred } from '../../primitives/deferred.ts'

/** The failures of something in a row, and the pauses after them. */
export class Backoff {
  readonly #settings: ClientSettings
  readonly #signal: AbortSignal | undefined
  #failures = 0
  #isPatient = false

  constructor(settings: ClientSettings, signal: AbortSignal | undefined) {
    this.#settings = settings
    this.#signal = signal
  }

  /** It works: from now on it is tried for ever, beginning with the shortest pause. */
  succeeded(): void {
    this.#failures = 0
    this.#isPatient = true
  }

  /**
   * Waits until it is time to try again; rethrows what trying again cannot help, and the last error there may be. A
   * service that asks for more time than the longest pause gets none.
   */
  async failed(error: unknown): Promise<void> {
    const { retry, clock, random } = this.#settings
    if (!isUnavailable(error)) throw error
    this.#failures += 1
    const policy = this.#isPatient ? { ...retry, maxAttempts: Number.POSITIVE_INFINITY } : retry
    const delayMs = retryDelayMs(policy, this.#failures, () => random.fraction())
    const { retryAfterMs = 0 } = error
    if (delayMs === undefined || (retryAfterMs > retry.maxTimeoutInMs && !this.#isPatient)) throw error
    await pause(clock, Math.max(delayMs, retryAfterMs), [this.#settings.signal, this.#signal])
  }
}

/** Waits for a time; rejects with the reason of the first signal that aborts meanwhile. */
async function pause(clock: Clock, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  const { promise, resolve, reject } = createDeferred<void>()
  const cancel = clock.setTimer(clock.now() + ms, () => resolve(), { label: 'asking a service again' })
  const removeListeners = signals.map((signal) => onAbort(signal, reject))
  try {
    await promise
  } finally {
    cancel()
    for (const remove of removeListeners) remove()
  }
}
