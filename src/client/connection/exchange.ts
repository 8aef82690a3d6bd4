import type { CancelTimer, Clock } from '../../contract/clock.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { ApiError } from './api-error.ts'

export interface ExchangeOptions {
  readonly clock: Clock
  /** Each of them ends the connection. */
  readonly signals: readonly (AbortSignal | undefined)[]
  /** How long it may be silent. */
  readonly silenceMs: number
}

/**
 * One request and its answer under way. It ends with the first of its signals, when it is silent for too long, or when it
 * is closed; whoever awaits a step of it then learns so at once, whatever the other side does.
 */
export class Exchange {
  readonly #clock: Clock
  readonly #controller = new AbortController()
  readonly #removeListeners: readonly (() => void)[]
  #silenceMs: number
  #cancelTimer: CancelTimer | undefined
  #step: Deferred<never> | undefined

  constructor({ clock, signals, silenceMs }: ExchangeOptions) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#removeListeners = signals.map((signal) => onAbort(signal, (reason) => this.#end(reason)))
    this.heard()
  }

  /** Ends what is asked with it. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Awaits one step; one at a time. Rejects with the reason when the connection ends first. */
  async during<T>(step: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = createDeferred<T>()
    this.#step = { promise: promise as Promise<never>, resolve, reject }
    step.then(resolve, reject)
    if (this.signal.aborted) reject(this.signal.reason)
    try {
      return await promise
    } finally {
      this.#step = undefined
    }
  }

  /** The other side is there: the silence begins anew. */
  heard(silenceMs: number = this.#silenceMs): void {
    this.#cancelTimer?.()
    if (this.signal.aborted) return
    this.#silenceMs = silenceMs
    const about = { label: 'silence of a service', background: true }
    this.#cancelTimer = this.#clock.setTimer(this.#clock.now() + silenceMs, () => this.#fallSilent(), about)
  }

  /** Nobody listens for now: silence means nothing. */
  rest(): void {
    this.#cancelTimer?.()
  }

  /** Gives up what is still under way. */
  close(): void {
    this.#end(new Error('Cannot read on: the connection was closed'))
  }

  #fallSilent(): void {
    const message = `Cannot go on with a request: nothing came for ${this.#silenceMs} ms`
    this.#end(new ApiError('ERR_API_UNAVAILABLE', message))
  }

  #end(reason: unknown): void {
    if (this.signal.aborted) return
    this.#cancelTimer?.()
    // Called by the first of them, there may be none yet.
    for (const remove of (this.#removeListeners as readonly (() => void)[] | undefined) ?? []) remove()
    this.#controller.abort(reason)
    this.#step?.reject(reason)
  }
}
