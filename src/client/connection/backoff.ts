import { retryDelayMs } from '../../api/retry.ts'
import { ApiError, isUnavailable } from './api-error.ts'
import { AccessTokenError } from './credential.ts'
import { onBack, PageChangedError } from './page.ts'
import { knownError } from './known-error.ts'
import type { ClientSettings } from './options.ts'
import type { Clock } from '../../contract/clock.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred } from '../../primitives/deferred.ts'

/** Counts consecutive failures, and pauses after each one. */
export class Backoff {
  readonly #settings: ClientSettings
  readonly #signal: AbortSignal | undefined
  #failures = 0
  readonly #since: number
  #isPatient: boolean

  /** One that is patient has no limit on attempts. */
  constructor(settings: ClientSettings, signal: AbortSignal | undefined, isPatient = false) {
    this.#settings = settings
    this.#signal = signal
    this.#isPatient = isPatient
    this.#since = settings.clock.now()
  }

  /** Starts over with the shortest pause. After a first success there is no limit on attempts. */
  succeeded(): void {
    this.#failures = 0
    this.#isPatient = true
  }

  /**
   * Waits before the next attempt. Throws the error on if repeating cannot help, if it was the last attempt, or if the
   * service asks for a pause longer than the longest one: as the engine's own error about what has this id, if it is one.
   */
  async failed(error: unknown, id?: string): Promise<void> {
    await this.#waited(error).catch((last: unknown) => {
      throw knownError(last, id)
    })
  }

  async #waited(error: unknown): Promise<void> {
    const { retry, clock, random } = this.#settings
    // The next attempt begins at once, or when the page is shown again.
    if (error instanceof PageChangedError) return
    if (!isUnavailable(error)) throw error
    // A call passes on what the function of the user threw; a subscription goes on.
    if (error instanceof AccessTokenError && !this.#isPatient) throw error.cause
    this.#failures += 1
    const policy = this.#isPatient ? { ...retry, maxAttempts: Number.POSITIVE_INFINITY } : retry
    const delayMs = retryDelayMs(policy, this.#failures, () => random.fraction())
    const { retryAfterMs = 0 } = error
    if (delayMs === undefined || (retryAfterMs > retry.maxTimeoutInMs && !this.#isPatient))
      throw this.#gaveUp(error)
    await pause(clock, Math.max(delayMs, retryAfterMs), [this.#settings.signal, this.#signal])
  }

  /** The error of the last attempt. It says how many there were. */
  #gaveUp(error: ApiError): ApiError {
    if (this.#failures === 1) return error
    const seconds = Math.round((this.#settings.clock.now() - this.#since) / 100) / 10
    const message = `${error.message} (${this.#failures} attempts in ${seconds} s)`
    const { status, body, retryAfterMs, cause } = error
    return new ApiError(error.code, message, { status, body, retryAfterMs, cause })
  }
}

/** Waits for a time, or until the page is back. Rejects with the reason of the first signal that aborts. */
async function pause(clock: Clock, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  const { promise, resolve, reject } = createDeferred<void>()
  const cancel = clock.setTimer(clock.now() + ms, () => resolve(), {
    label: 'the pause before asking a service again',
  })
  const removeListeners = signals.map((signal) => onAbort(signal, reject))
  const waiting = new AbortController()
  onBack(resolve, waiting.signal)
  try {
    await promise
  } finally {
    cancel()
    waiting.abort()
    for (const remove of removeListeners) remove()
  }
}
