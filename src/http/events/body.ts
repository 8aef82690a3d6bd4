import type { CancelTimer } from '../../contract/clock.ts'
import { type Inside, outsideRuns, type Turns } from '../../core/inside.ts'
import { onAbort } from '../../primitives/abort.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { expiredAccess } from '../access/caller.ts'
import { PING } from './sse-frame.ts'

/** A client that receives nothing for more than two of these takes the connection for dead. */
export const PING_MS = 6_000
/** Events are produced this far ahead of the client. More would only use memory. */
const AHEAD_BYTES = 64 * 1_024

/** The source of a body of server-sent events. */
export interface EventTexts {
  /** One or several events per text; asked for one text at a time. */
  readonly texts: AsyncIterator<string, unknown>
  /** Ends `texts`, also while a text is pending. */
  readonly leave: () => Promise<unknown>
}

export interface EventBodyOptions extends EventTexts {
  readonly host: Inside['host']
  readonly turns: Turns
  /** The name of the subscription in messages. */
  readonly label: string
  readonly signal: AbortSignal
  /** The body ends after this time without an event. Default: never. */
  readonly idleMs?: number | undefined
  /**
   * The instant at which the access of the reader expires. The body then fails, so that the reader knows it is
   * incomplete. Default: never.
   */
  readonly expiresAt?: number | undefined
  /** Called once, however the body ends. */
  readonly ended: () => void
  /** Called when the source fails. Returns true if the connection is cut already. */
  readonly failed: (error: unknown) => boolean
}

/** A body of server-sent events. It asks for text as fast as its reader does, and sends a sign of life in between. */
export function eventBody(options: EventBodyOptions): ReadableStream<Uint8Array> {
  const body = new EventBody(options)
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => body.start(controller),
      // The reader may be a run. Reading must not count as a wait of that run.
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
    const expire = (): void => void this.#fail(expiredAccess())
    const about = { label: `expiry of the access to ${label}`, background: true }
    this.#cancelExpiry = host.clock.setTimer(expiresAt, expire, about)
  }

  /** Enqueues the next text, or a sign of life when there is none for long. */
  async pull(): Promise<void> {
    const turn = this.#options.turns.next()
    if (turn !== undefined) {
      await turn
      if (this.#isEnded) return
    }
    if (!this.#isAsked) this.#ask()
    if (this.#arrival === undefined) await this.#arrived()
    if (this.#isEnded) return
    const arrival = this.#arrival
    if (arrival === undefined) return this.#silent()
    this.#arrival = undefined
    this.#isAsked = false
    if ('error' in arrival) return this.#fail(arrival.error)
    if (arrival.step.done === true) return this.#close()
    const text = arrival.step.value
    if (text.length > AHEAD_BYTES) await this.#options.turns.next(text.length)
    this.#send(text)
  }

  /** The reader has gone. */
  async end(): Promise<void> {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#waiting?.resolve()
    this.#removeAbort?.()
    this.#cancelExpiry?.()
    this.#options.ended()
    await this.#options.leave()
  }

  /** A pending request for text stays pending while signs of life are sent. */
  #ask(): void {
    const { host, idleMs } = this.#options
    this.#isAsked = true
    // Counted from the request for text: a reader that pauses says nothing about the source.
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

  /** Resolves when a text has come, a sign of life is due, or the body has ended. */
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
    this.#send(PING)
  }

  #send(text: string): void {
    if (!this.#isEnded) this.#controller?.enqueue(this.#encoder.encode(text))
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
