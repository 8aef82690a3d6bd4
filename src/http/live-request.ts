import type { Context } from 'hono'
import type { ReleaseHold } from '../contract/clock.ts'
import type { Host } from '../core/host/host.ts'

/** The connection on which a request came, as far as its answer is concerned. */
export interface Connection {
  /** The answer may take for ever: a server that closes does not wait for it. */
  outlast(): void
  /** Ends it in the middle of the answer, so that nobody takes the rest for all there is. */
  cut(): void
}

/** A request that is being answered. While it is, a test clock does not move time, except in `pause`. */
export class LiveRequest {
  readonly #host: Host
  readonly #what: string
  readonly #connection: Connection | undefined
  #release: ReleaseHold | undefined

  constructor(host: Host, what: string, connection: Connection | undefined) {
    this.#host = host
    this.#what = what
    this.#connection = connection
    this.#hold()
  }

  /** The request of a route. */
  static of(c: Context): LiveRequest {
    // What createHandler gives to every route.
    return c.env as LiveRequest
  }

  /** Waits for something that only the future can bring. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    this.end()
    try {
      return await wait()
    } finally {
      this.#hold()
    }
  }

  /** There is a response. */
  end(): void {
    this.#release?.()
    this.#release = undefined
  }

  /** Tells the server that there may never be one, or that it may never end. */
  outlast(): void {
    this.#connection?.outlast()
  }

  /** Cuts the connection; false where only the host that has it could. */
  cut(): boolean {
    this.#connection?.cut()
    return this.#connection !== undefined
  }

  #hold(): void {
    this.#release = this.#host.clock.hold?.({ kind: 'call', id: this.#what })
  }
}
