import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Connection } from './live-request.ts'

/** The open connections of a server: without them it would only close when the last client has gone. */
export class Connections {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #requests = new Set<IncomingMessage>()
  /** Of these requests those whose answer nobody waits for. */
  readonly #outlasting = new WeakSet<object>()
  #isClosing = false

  constructor(server: Server) {
    this.#server = server
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

  /** Answers what has been received, unless that takes for ever; cuts everything else, what is still arriving too. */
  close(): Promise<void> {
    this.#isClosing = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#cut()
    return closed
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
