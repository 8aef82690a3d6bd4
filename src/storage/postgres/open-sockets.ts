import { Socket } from 'node:net'

/** The sockets of connections that are opened here, from before they are connected until they are closed. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>()

  /** Makes the socket of a connection. */
  readonly make = (): Socket => {
    const socket = new Socket()
    this.#sockets.add(socket)
    return socket.once('close', () => void this.#sockets.delete(socket))
  }

  /** They alone do not keep the process alive: the other end may never say that it has closed. */
  unref(): void {
    for (const socket of this.#sockets) socket.unref()
  }

  /** Closes them without a word. What waits for an answer over one is told that the connection is lost. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
