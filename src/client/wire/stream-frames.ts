import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { WireRecord } from './record.ts'
import { StreamInterruptedError, StreamLaggedError, WaitpointError } from '../../api/errors.ts'
import { ApiError } from '../connection/api-error.ts'
import { errorOf, readStoredError } from './error.ts'
/** Ids of records that were seen lately, so that one that was written twice is read once. */
const REMEMBERED = 5_000

/** Takes event streams apart, in either of the framings of the service. */
export class StreamFrames {
  /** What to go on after, once connected anew. */
  lastId: string | undefined
  readonly #key: string
  #chunks: unknown[] = []
  #failure: Error | undefined
  #isBatched = false
  #seen = new Set<string>()
  #parser = createParser({ onEvent: (event) => this.#take(event) })

  constructor(key: string, lastId: string | undefined) {
    this.#key = key
    this.lastId = lastId
  }

  /** Begins a connection; what was left half of the last one comes again. */
  begin({ headers }: Response): void {
    this.#isBatched = headers.get('x-stream-version') === 'v2'
    this.#seen = new Set()
    this.#parser = createParser({ onEvent: (event) => this.#take(event) })
  }

  /** Takes in what came. */
  feed(text: string): void {
    this.#parser.feed(text)
  }

  /** All chunks that have come since the last call. */
  takeChunks(): readonly unknown[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  /** What the service said was wrong, once: the chunks before it are taken first. */
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

/** A record for the stream itself, such as one that trims it. */
function isCommand(headers: unknown): boolean {
  const first: unknown = Array.isArray(headers) ? headers[0] : undefined
  return Array.isArray(first) && first[0] === ''
}

/** A chunk that is no JSON is the text it is. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What a service says in the middle of a stream: an error of the engine, or one that connecting again may mend. */
function streamError(key: string, body: unknown): Error {
  const said = Object(body) as { readonly error?: unknown }
  const wire = new WireRecord(Object(said.error ?? said), 'an error of a stream')
  const message = wire.text('message') ?? `Cannot read on in stream "${key}": the service says so`
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
      return new ApiError('ERR_API_UNAVAILABLE', message, { body })
  }
}
