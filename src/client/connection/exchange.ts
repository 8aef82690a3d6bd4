import type { CancelTimer, Clock } from '../../contract/clock.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { unavailable } from './api-error.ts'
import { onOnline, onVisibility, PageChangedError, pageDocument, TurnOverError } from './page.ts'

/** An answer of which nothing comes for so long does not keep its connection from other followers. */
const UNFINISHED_MS = 3_000
/** The end of a message in an event stream. */
const MESSAGE_END = /\n\r?\n/

export interface ExchangeOptions {
  readonly clock: Clock
  /** Each of these signals ends the exchange. */
  readonly signals: readonly (AbortSignal | undefined)[]
  /** The longest silence, in milliseconds. */
  readonly silenceMs: number
}

/**
 * A request and its answer in progress. It ends when one of its signals aborts, when the service is silent for too
 * long, or when it is closed. A pending step then rejects at once, even if the service does nothing.
 */
export class Exchange {
  readonly #clock: Clock
  readonly #controller = new AbortController()
  readonly #removeListeners: readonly (() => void)[]
  #silenceMs: number
  #cancelTimer: CancelTimer | undefined
  /** From when on it may end for other followers. */
  #leavableAt = Infinity
  #rejectStep: ((reason: unknown) => void) | undefined

  constructor({ clock, signals, silenceMs }: ExchangeOptions) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#removeListeners = signals.map((signal) => onAbort(signal, (reason) => this.#end(reason)))
    this.heard()
  }

  /** Aborts when the exchange ends. It is passed to `fetch`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Awaits one step; only one at a time. Rejects with the reason if the exchange ends first. */
  async during<T>(step: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = createDeferred<T>()
    this.#rejectStep = reject
    step.then(resolve, reject)
    if (this.signal.aborted) reject(this.signal.reason)
    try {
      return await promise
    } finally {
      this.#rejectStep = undefined
    }
  }

  /** Restarts the measurement of silence, because the service has sent something. */
  heard(silenceMs: number = this.#silenceMs): void {
    this.#cancelTimer?.()
    if (this.signal.aborted) return
    this.#silenceMs = silenceMs
    const about = { label: 'the silence of a service', background: true }
    this.#cancelTimer = this.#clock.setTimer(this.#clock.now() + silenceMs, () => this.#fallSilent(), about)
  }

  /** Stops the measurement of silence while the answer is not read. */
  rest(): void {
    this.#cancelTimer?.()
  }

  /**
   * Waits until the page is shown, and ends the exchange when it is hidden, or online again. Elsewhere than on a page it does
   * nothing.
   */
  async whileShown(): Promise<void> {
    const page = pageDocument()
    if (page === undefined) return
    const { signal } = this
    while (page.visibilityState === 'hidden') {
      this.rest()
      await this.during(new Promise<void>((resolve) => onVisibility(page, resolve, signal)))
      this.heard()
    }
    const end = (): void => this.#end(new PageChangedError())
    onVisibility(page, () => page.visibilityState === 'hidden' && end(), signal)
    onOnline(end, signal)
  }

  /** Text has come. While a large message comes the exchange does not leave: in each turn it would begin anew. */
  came(text: string): void {
    this.#leavableAt = MESSAGE_END.test(text) ? 0 : this.#clock.now() + UNFINISHED_MS
  }

  /** Ends for another follower if its own has got on. Answers whether it did. */
  leave(): boolean {
    if (this.#clock.now() < this.#leavableAt) return false
    this.#end(new TurnOverError())
    return true
  }

  /** Ends the exchange and aborts its request. */
  close(): void {
    this.#end(new Error('Cannot read on: the connection was closed'))
  }

  #fallSilent(): void {
    const message = `Cannot go on with a request: the service sent nothing for ${this.#silenceMs / 1_000} s`
    this.#end(unavailable(message))
  }

  #end(reason: unknown): void {
    if (this.signal.aborted) return
    this.#cancelTimer?.()
    // When the first signal has aborted already, the later ones have no listeners yet.
    for (const remove of (this.#removeListeners as readonly (() => void)[] | undefined) ?? []) remove()
    this.#controller.abort(reason)
    this.#rejectStep?.(reason)
  }
}
