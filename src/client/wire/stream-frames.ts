import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { WireRecord } from './record.ts'
import { StreamInterruptedError, StreamLaggedError, WaitpointError } from '../../api/errors.ts'
import { unavailable } from '../connection/api-error.ts'
import { readJson } from '../connection/refused-answer.ts'
import { errorOf, readStoredError } from './error.ts'
/** The number of recent record ids that are kept, so that a record that was written twice is read once. */
const REMEMBERED = 5_000

/** Parses event streams in both framings of the service. */
export class StreamFrames {
  /** The position to continue after on a new connection. */
  lastId: string | undefined
  readonly #key: string
  #chunks: unknown[] = []
  #failure: Error | undefined
  #isBatched = false
  #seen = new Set<string>()
  #parser: EventSourceParser | undefined

  constructor(key: string, lastId: string | undefined) {
    this.#key = key
    this.lastId = lastId
  }

  /** Starts a new connection. An incomplete record of the last one is dropped; it comes again. */
  begin({ headers }: Response): void {
    this.#isBatched = headers.get('x-stream-version') === 'v2'
    this.#seen = new Set()
    this.#parser = createParser({ onEvent: (event) => this.#take(event) })
  }

  /** Parses a piece of text. */
  write(text: string): void {
    this.#parser?.feed(text)
  }

  /** All chunks since the last call. */
  takeChunks(): readonly unknown[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  /** The error that the service sent, once. Take the chunks before it first. */
  takeFailure(): Error | undefined {
    const failure = this.#failure
    this.#failure = undefined
    return failure
  }

  #take({ event, id, data }: EventSourceMessage): void {
    if (event === 'error') {
      this.#failure = streamError(this.#key, readJson(data))
      if (id !== undefined) this.lastId = id
    } else if (this.#isBatched) {
      if (event === 'batch') this.#takeBatch(new WireRecord(readJson(data), 'a batch of a stream'))
    } else {
      this.#chunks.push(readJson(data))
      if (id !== undefined) this.lastId = id
    }
  }

  #takeBatch(batch: WireRecord): void {
    for (const record of batch.records('records')) {
      const sequence = record.number('seq_num')
      if (sequence !== undefined) this.lastId = String(sequence)
      if (isCommand(record.value('headers'))) continue
      const body = readJson(record.requiredText('body'))
      const { data, id } = Object(body) as { readonly data?: unknown; readonly id?: unknown }
      if (this.#isKnown(id)) continue
      this.#chunks.push(data)
    }
  }

  #isKnown(id: unknown): boolean {
    if (typeof id !== 'string') return false
    if (this.#seen.has(id)) return true
    if (this.#seen.size === REMEMBERED) this.#seen.clear()
    this.#seen.add(id)
    return false
  }
}

/** A record that concerns the stream itself, such as one that trims it. */
function isCommand(headers: unknown): boolean {
  const first: unknown = Array.isArray(headers) ? headers[0] : undefined
  return Array.isArray(first) && first[0] === ''
}

/** An error event in a stream, or in all streams of a run: an error of the engine, or one that a new connection may solve. */
export function streamError(read: string, body: unknown): Error {
  const said = Object(body) as { readonly error?: unknown }
  const wire = new WireRecord(Object(said.error ?? said), 'an error of a stream')
  const key = wire.text('key') ?? read
  const message =
    wire.text('message') ?? `Cannot read on in stream "${key}": the service sent an error without a message`
  const next = wire.number('next') ?? 0
  switch (wire.text('code')) {
    case 'ERR_STREAM_LAGGED':
      return new StreamLaggedError(key, wire.number('missed') ?? 0, next)
    case 'ERR_STREAM_INTERRUPTED':
      return new StreamInterruptedError(key, next)
    case 'ERR_STREAM_FAILED': {
      const stored = readStoredError(wire.value('cause'))
      const cause = stored === undefined ? undefined : { cause: errorOf(stored) }
      return new WaitpointError('ERR_STREAM_FAILED', message, cause)
    }
    default:
      return unavailable(message, { body })
  }
}
