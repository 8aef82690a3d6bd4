import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../contract/clock.ts'
import type { Connection } from './live-request.ts'

/** How long a server that closes waits for clients to take their answers. */
const LINGER_MS = 30_000

/** The open connections of a server: without them it would only close when the last client has gone. */
export class Connections {
  readonly #server: Server
  readonly #clock: Clock
  readonly #sockets = new Set<Socket>()
  readonly #requests = new Set<IncomingMessage>()
  /** Of these requests those whose answer nobody waits for. */
  readonly #outlasting = new WeakSet<object>()
  #isClosing = false

  constructor(server: Server, clock: Clock) {
    this.#server = server
    this.#clock = clock
    // Node takes a connection for idle once its answer is made, though not yet sent: it would be cut in the middle.
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
   * Answers what has been received, unless that takes for ever or nobody takes it; cuts everything else, what is still
   * arriving too.
   */
  close(): Promise<void> {
    this.#isClosing = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#cut()
    const destroy = (): void => this.#sockets.forEach((socket) => socket.destroy())
    const about = { label: 'answers of a server that closes', background: true }
    const cancel = this.#clock.setTimer(this.#clock.now() + LINGER_MS, destroy, about)
    return closed.finally(cancel)
  }

  #cut(): void {
    const received = [...this.#requests].filter(
      (request) => request.complete && !this.#outlasting.has(request),
    )
    const busy = new Set(received.map(({ socket }) => socket))
    for (const socket of this.#sockets) {
      if (!busy.has(socket)) socket.destroy()
    }
  }
}
