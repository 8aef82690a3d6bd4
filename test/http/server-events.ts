import { type RequestParts, request, SECRET } from './requests.ts'

/** One event as a client gets it. */
export interface ReceivedEvent {
  readonly event?: string
  readonly id?: string
  readonly data?: string
}

/** A GET with the first secret key unless told otherwise. */
export function get(path: string, headers: RequestParts['headers'] = {}): Request {
  const url = `http://engine.test${path}`
  return request(url, { method: 'GET', headers: { authorization: `Bearer ${SECRET}`, ...headers } })
}

/** What a client makes of a body of server-sent events; comments are events without anything. */
export class EventReader implements AsyncIterableIterator<ReceivedEvent> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''

  constructor(body: ReadableStream<Uint8Array> | null) {
    if (body === null) throw new Error('Cannot read events: there is no body')
    this.#reader = body.getReader()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<ReceivedEvent>> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end >= 0) {
        const block = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        return { done: false, value: parseBlock(block) }
      }
      const { done, value } = await this.#reader.read()
      if (done) return { done: true, value: undefined }
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  /** The next event that is not only a comment. */
  async event(): Promise<ReceivedEvent | undefined> {
    for (;;) {
      const step = await this.next()
      if (step.done === true) return undefined
      if (Object.keys(step.value).length > 0) return step.value
    }
  }

  /** All events to the end that are not only comments. */
  async rest(): Promise<ReceivedEvent[]> {
    const events: ReceivedEvent[] = []
    for await (const event of this) if (Object.keys(event).length > 0) events.push(event)
    return events
  }

  async return(): Promise<IteratorResult<ReceivedEvent>> {
    await this.#reader.cancel()
    return { done: true, value: undefined }
  }
}

function parseBlock(block: string): ReceivedEvent {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (name === '') continue
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  return Object.fromEntries(fields)
}

/** Events in short: the id and the value of each. */
export function numbered(events: readonly ReceivedEvent[]): unknown[] {
  return events.map(({ id, data }) => [
    Number(id),
    data === undefined ? undefined : (JSON.parse(data) as unknown),
  ])
}
