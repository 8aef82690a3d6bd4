import type { EventSourceMessage } from 'eventsource-parser'
import { WireRecord } from './record.ts'
import { StreamInterruptedError, StreamLaggedError, WaitpointError } from '../../api/errors.ts'
import { unavailable } from '../connection/api-error.ts'
import { readJson } from '../connection/refused-answer.ts'
import { errorOf, readStoredError } from './error.ts'
/** The number of recent record ids that are kept, so that a record that was written twice is read once. */
const REMEMBERED = 5_000

/** Reads the events of a stream in both framings of the service. */
export class StreamFrames {
  /** The position to continue after on a new connection. */
  lastId: string | undefined
  readonly #key: string
  #isBatched = false
  #seen = new Set<string>()

  constructor(key: string, lastId: string | undefined) {
    this.#key = key
    this.lastId = lastId
  }

  /** Starts a new connection. */
  begin({ headers }: Response): void {
    this.#isBatched = headers.get('x-stream-version') === 'v2'
    this.#seen = new Set()
  }

  /** The chunks of some events, and the error that the service sent after them. */
  take(events: readonly EventSourceMessage[]): {
    readonly chunks: readonly unknown[]
    readonly failure: Error | undefined
  } {
    const chunks: unknown[] = []
    let failure: Error | undefined
    for (const { event, id, data } of events) {
      if (event !== 'error' && this.#isBatched) {
        if (event === 'batch') this.#takeBatch(new WireRecord(readJson(data), 'a batch of a stream'), chunks)
        continue
      }
      if (event === 'error') failure = streamError(this.#key, readJson(data))
      else chunks.push(readJson(data))
      this.lastId = id ?? this.lastId
    }
    return { chunks, failure }
  }

  #takeBatch(batch: WireRecord, chunks: unknown[]): void {
    for (const record of batch.records('records')) {
      const sequence = record.number('seq_num')
      if (sequence !== undefined) this.lastId = String(sequence)
      if (isCommand(record.value('headers'))) continue
      const body = readJson(record.requiredText('body'))
      const { data, id } = Object(body) as { readonly data?: unknown; readonly id?: unknown }
      if (!this.#isKnown(id)) chunks.push(data)
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
