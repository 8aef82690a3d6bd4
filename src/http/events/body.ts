import type { CancelTimer } from '../../contract/clock.ts'
import type { Host } from '../../core/host/host.ts'
import { outsideRuns } from '../../core/attempt/attempt.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { Refusal } from '../refusal.ts'
import { PING } from './sse-frame.ts'

const PING_MS = 15_000
/** What is made ahead of a client that reads: more would only wait in memory. */
const AHEAD_BYTES = 64 * 1_024

/** Where the text of a body comes from. */
export interface EventTexts {
  /** One event or several, as text; asked for one at a time. */
  readonly texts: AsyncIterator<string, unknown>
  /** Ends `texts`, also while one is out. */
  readonly leave: () => Promise<unknown>
}

export interface EventBodyOptions extends EventTexts {
  readonly host: Host
  /** What it is about, for people. */
  readonly label: string
  readonly signal: AbortSignal
  /** After so long without an event the body ends. Default: never. */
  readonly idleMs?: number | undefined
  /** When whoever reads may do so no more: it breaks off, which they cannot take for the end. Default: never. */
  readonly expiresAt?: number | undefined
  /** Called once, however it ends. */
  readonly ended: () => void
  /** Called when there can be no more text though there should be. True: the connection is cut already. */
  readonly failed: (error: unknown) => boolean
}

/** A body of server-sent events that asks for text as its reader does, and shows life in between. */
export function eventBody(options: EventBodyOptions): ReadableStream<Uint8Array> {
  const body = new EventBody(options)
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => body.start(controller),
      // The reader may be a run, which must not be taken for whoever waits.
      pull: () => outsideRuns(() => body.pull()),
      cancel: () => body.end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
  )
}

type Arrival = { readonly step: IteratorResult<string, unknown> } | { readonly error: unknown }

class EventBody {
  readonly #options: EventBodyOptions
  readonly #encoder = new TextEncoder()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #removeAbort: (() => void) | undefined
  #cancelExpiry: CancelTimer | undefined
  #isAsked = false
  #arrival: Arrival | undefined
  #waiting: Deferred<void> | undefined
  #idleAt = Infinity
  #isEnded = false

  constructor(options: EventBodyOptions) {
    this.#options = options
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller
    const { host, label, signal, expiresAt } = this.#options
    this.#removeAbort = onAbort(signal, () => void this.#close())
    if (expiresAt === undefined || this.#isEnded) return
    const expire = (): void => void this.#fail(new Refusal(401, 'Public Access Token has expired'))
    const about = { label: `expiry of the access to ${label}`, background: true }
    this.#cancelExpiry = host.clock.setTimer(expiresAt, expire, about)
  }

  /** Adds the next text, or a sign of life if there is none for long. */
  async pull(): Promise<void> {
    if (!this.#isAsked) this.#ask()
    if (this.#arrival === undefined) await this.#arrived()
    if (this.#isEnded) return
    const arrival = this.#arrival
    if (arrival === undefined) return this.#silent()
    this.#arrival = undefined
    this.#isAsked = false
    if ('error' in arrival) return this.#fail(arrival.error)
    if (arrival.step.done === true) return this.#close()
    this.#controller?.enqueue(this.#encoder.encode(arrival.step.value))
  }

  /** Nobody reads any more. */
  async end(): Promise<void> {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#waiting?.resolve()
    this.#removeAbort?.()
    this.#cancelExpiry?.()
    this.#options.ended()
    await this.#options.leave()
  }

  /** What is out stays out however often the reader is told that nothing has come yet. */
  #ask(): void {
    const { host, idleMs } = this.#options
    this.#isAsked = true
    // Counted from when something was asked for: a reader that pauses says nothing about the source.
    if (idleMs !== undefined) this.#idleAt = host.now() + idleMs
    const arrive = (arrival: Arrival): void => {
      this.#arrival = arrival
      this.#waiting?.resolve()
    }
    this.#options.texts.next().then(
      (step) => arrive({ step }),
      (error: unknown) => arrive({ error }),
    )
  }

  /** Resolves when something has come, or it is time for a sign of life, or all is over. */
  async #arrived(): Promise<void> {
    const { host, label } = this.#options
    const waiting = createDeferred<void>()
    this.#waiting = waiting
    const at = Math.min(host.now() + PING_MS, this.#idleAt)
    const cancel = host.clock.setTimer(at, waiting.resolve, { label: `ping of ${label}`, background: true })
    await waiting.promise.finally(cancel)
    this.#waiting = undefined
  }

  #silent(): void | Promise<void> {
    if (this.#options.host.now() >= this.#idleAt) return this.#close()
    this.#controller?.enqueue(this.#encoder.encode(PING))
  }

  #close(): Promise<void> {
    const isOpen = !this.#isEnded
    const ended = this.end()
    if (isOpen) this.#controller?.close()
    return ended
  }

  #fail(error: unknown): Promise<void> {
    const isOpen = !this.#isEnded
    const ended = this.end()
    if (isOpen && !this.#options.failed(error)) this.#controller?.error(error)
    return ended
  }
}
