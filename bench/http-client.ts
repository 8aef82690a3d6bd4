import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'

/** The key that both sides share. */
export const SECRET = 'sk_bench'

/** A client on this machine with persistent connections. */
export class HttpClient {
  readonly #agent: Agent

  constructor(connections: number = Infinity) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** Posts a JSON text. Returns the body of the response. */
  post(url: string, body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${SECRET}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }
      const asked = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece: string) => (text += piece))
        response.on('end', () => resolve(text))
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }

  /** Opens a body of events. */
  async subscribe(url: string): Promise<EventSubscriber> {
    const asked = get(url, { agent: this.#agent, headers: { authorization: `Bearer ${SECRET}` } })
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return new EventSubscriber(response)
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Counts the events it receives. */
export class EventSubscriber {
  readonly #response: IncomingMessage
  #events = 0
  #waiting: { readonly events: number; readonly resolve: () => void } | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.setEncoding('utf8')
    // A closing server cuts the connection.
    response.on('error', () => undefined)
    response.on('data', (piece: string) => this.#add(piece.split('data: ').length - 1))
  }

  /** Resolves with the event of this number, from 1. */
  received(events: number): Promise<void> {
    if (this.#events >= events) return Promise.resolve()
    return new Promise((resolve) => (this.#waiting = { events, resolve }))
  }

  close(): void {
    this.#response.destroy()
  }

  #add(events: number): void {
    this.#events += events
    if (this.#waiting === undefined || this.#events < this.#waiting.events) return
    this.#waiting.resolve()
    this.#waiting = undefined
  }
}
