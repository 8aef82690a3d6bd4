import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Inside } from '../core/inside.ts'
import type { Connection } from './live-request.ts'

/** The time that a closing server gives clients to receive their answers. */
const LINGER_MS = 30_000

/** The open connections of a server. `server.close()` of Node alone would wait until the last client disconnects. */
export class Connections {
  readonly #server: Server
  readonly #host: Inside['host']
  readonly #sockets = new Set<Socket>()
  readonly #requests = new Set<IncomingMessage>()
  /** Requests whose answers may take forever: a closing server does not wait for them. */
  readonly #outlasting = new WeakSet<object>()
  #isClosing = false

  constructor(server: Server, host: Inside['host']) {
    this.#server = server
    this.#host = host
    // Node treats a connection as idle when its answer is produced but not yet sent, and would cut it in the middle.
    server.closeIdleConnections = () => undefined
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => {
      this.#requests.add(request)
      response.once('close', () => {
        this.#requests.delete(request)
        if (this.#isClosing) this.#cut()
      })
    })
  }

  /** The connection of a request. */
  of(request: { readonly socket: { destroy(): unknown } }): Connection {
    return {
      outlast: () => {
        this.#outlasting.add(request)
        if (this.#isClosing) this.#cut()
      },
      cut: () => void request.socket.destroy(),
    }
  }

  /**
   * Finishes the answers to requests that were received, within a time limit, and destroys all other connections, also
   * those still sending.
   */
  close(): Promise<void> {
    const { clock } = this.#host
    this.#isClosing = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#cut()
    const destroy = (): void => this.#sockets.forEach((socket) => socket.destroy())
    const about = { label: 'sending the last answers of a server that closes', background: true }
    const cancel = clock.setTimer(clock.now() + LINGER_MS, destroy, about)
    return closed.finally(cancel)
  }

  #cut(): void {
    // The answers of an engine that is closed end by themselves: they are sent to their ends.
    const mayLast = (request: IncomingMessage): boolean =>
      this.#outlasting.has(request) && !this.#host.isClosed
    const received = [...this.#requests].filter((request) => request.complete && !mayLast(request))
    const busy = new Set(received.map(({ socket }) => socket))
    for (const socket of this.#sockets) {
      if (!busy.has(socket)) socket.destroy()
    }
  }
}
