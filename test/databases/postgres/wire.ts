import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { withoutNotifications } from './messages.ts'

/** What a wire does with the next thing that is sent over it: a question of a client, an answer of the server. */
export type Fate = 'passes' | 'is lost' | 'falls silent'

export interface WireOptions {
  /** Asked for everything that is sent once a client is let in. What is lost is lost with the connection, or in its silence. */
  readonly fate?: (sent: 'question' | 'answer') => Fate
  /** Swallows what others notify of. */
  readonly isDeaf?: () => boolean
  /** Asked for everything that is sent: for how many milliseconds it is held up, and what follows it. Default: nothing is. */
  readonly lagMs?: () => number
}

/** What is between clients and the server: a port of its own, on which connections are cut at the worst moments. */
export class Wire implements AsyncDisposable {
  readonly #server: Server
  #target: URL
  readonly #options: WireOptions
  readonly #pairs = new Set<() => void>()
  readonly #silent = new Set<() => void>()
  #isSilent = false
  cuts = 0
  /** How many connections have fallen silent. */
  silences = 0

  /** Lays a wire to the server of this URL. */
  static async to(url: string, options: WireOptions = {}): Promise<Wire> {
    const wire = new Wire(new URL(url), options)
    wire.#server.listen(0, '127.0.0.1')
    await once(wire.#server, 'listening')
    return wire
  }

  private constructor(target: URL, options: WireOptions) {
    this.#target = target
    this.#options = options
    // Silence is deep: neither end learns that the other one has closed.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#join(client))
  }

  /** The server, over this wire. */
  get url(): string {
    const url = new URL(this.#target)
    // Listening on a port, not on a path.
    url.port = String((this.#server.address() as AddressInfo).port)
    return String(url)
  }

  /** Cuts every connection there is; new ones can be made. */
  cut(): void {
    for (const cut of [...this.#pairs]) cut()
  }

  /** Cuts every connection there is; new ones lead to another server, with the same users. */
  lead(url: string): void {
    this.#target = new URL(url)
    this.cut()
  }

  /** From now on the open connections pass nothing on, and neither end is told. New ones can be made, and do, unless it is for all. */
  silence({ isForAll = false }: { readonly isForAll?: boolean } = {}): void {
    this.#isSilent = isForAll
    for (const pair of this.#pairs) this.#fallSilent(pair)
  }

  #fallSilent(pair: () => void): void {
    if (!this.#silent.has(pair)) this.silences += 1
    this.#silent.add(pair)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #join(client: Socket): void {
    const { fate = () => 'passes', isDeaf = () => false, lagMs } = this.#options
    const { port, hostname: host } = this.#target
    const server = connect({ port: Number(port), host, allowHalfOpen: true })
    const cut = (): void => {
      if (this.#pairs.delete(cut)) this.cuts += 1
      client.destroy()
      server.destroy()
    }
    this.#pairs.add(cut)
    if (this.#isSilent) this.#fallSilent(cut)
    const [ask, answered] = [sender(server, lagMs), sender(client, lagMs)]
    let isLetIn = false
    const hear = withoutNotifications(isDeaf)
    const isLost = (sent: 'question' | 'answer'): boolean => {
      if (this.#silent.has(cut)) return true
      const end = isLetIn ? fate(sent) : 'passes'
      if (end === 'is lost') cut()
      else if (end === 'falls silent') this.#fallSilent(cut)
      return end !== 'passes'
    }
    client.on('data', (question) => {
      if (!isLost('question')) ask(question)
    })
    server.on('data', (answer) => {
      if (isLost('answer')) return
      const heard = hear(answer)
      isLetIn ||= heard.isReady
      if (heard.bytes.length > 0) answered(heard.bytes)
    })
    const over = (): void => {
      if (!this.#silent.has(cut)) cut()
    }
    for (const end of [client, server]) end.on('error', over).on('end', over).on('close', over).setNoDelay()
  }
}

/** Sends to one end, in order. */
function sender(to: Socket, lagMs: (() => number) | undefined): (bytes: Uint8Array) => void {
  if (lagMs === undefined) return (bytes) => to.write(bytes)
  let sent = Promise.resolve()
  return (bytes) => {
    sent = sent.then(async () => {
      const ms = lagMs()
      if (ms > 0) await pauseReal(ms)
      if (!to.destroyed) to.write(bytes)
    })
  }
}
