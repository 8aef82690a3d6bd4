import type { Context } from 'hono'
import type { ReleaseHold } from '../contract/clock.ts'
import type { Inside } from '../core/inside.ts'
import { refusalOf } from './refusal.ts'

/** The connection of a request, as far as the answer can affect it. */
export interface Connection {
  /** Declares that the answer may take forever: a closing server does not wait for it. */
  outlast(): void
  /** Cuts the connection in the middle of the answer, so that the client knows the answer is incomplete. */
  cut(): void
}

/** The connections of requests that come with nothing but themselves. */
const known = new WeakMap<Request, Connection>()

/** Names the connection of a request to the handler that will answer it. */
export function setConnection(request: Request, connection: Connection): void {
  known.set(request, connection)
}

/** The connection that the host of a handler has named. */
export function connectionOf(request: Request): Connection | undefined {
  return known.get(request)
}

/** A request that is being answered. Meanwhile a test clock does not move time, except in `pause`. */
export class LiveRequest {
  readonly #host: Inside['host']
  readonly #what: string
  readonly #connection: Connection | undefined
  #release: ReleaseHold | undefined

  constructor(host: Inside['host'], what: string, connection: Connection | undefined) {
    this.#host = host
    this.#what = what
    this.#connection = connection
    this.#hold()
  }

  /** The live request of a Hono context. */
  static of(c: Context): LiveRequest {
    // `createHandler` sets it for every route.
    return c.env as LiveRequest
  }

  /** Waits for something that needs time to pass. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    this.end()
    try {
      return await wait()
    } finally {
      this.#hold()
    }
  }

  /** Marks the request as answered. */
  end(): void {
    this.#release?.()
    this.#release = undefined
  }

  /** Tells the server that the answer may never begin or never end. */
  outlast(): void {
    this.#connection?.outlast()
  }

  /** Ends an answer that fails in its middle. Returns false if the host gave no connection to cut. */
  breakOff(error: unknown, inside: Pick<Inside, 'report'>): boolean {
    if (refusalOf(error).status === 500) inside.report(error)
    this.#connection?.cut()
    return this.#connection !== undefined
  }

  #hold(): void {
    this.#release = this.#host.clock.hold?.({ kind: 'call', id: this.#what })
  }
}
