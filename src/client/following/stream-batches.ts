import { unreadable } from '../connection/api-error.ts'
import { Backoff } from '../connection/backoff.ts'
import type { Exchange } from '../connection/exchange.ts'
import { knownError } from '../connection/known-error.ts'
import { StreamFrames } from '../wire/stream-frames.ts'
import { reached, type Transport } from '../connection/transport.ts'

/** A service sends at least a comment now and then: silence is longer. */
const SILENCE_MS = 90_000
const EVENTS = 'text/event-stream'

/** Which stream to read, and from where on. */
export interface StreamBatchesOptions {
  readonly runId: string
  readonly key: string
  /** What to go on after; nothing for the beginning. */
  readonly lastId?: string | undefined
  /** Told what was read last, for who goes on later. */
  readonly onPosition?: (lastId: string | undefined) => void
}

/**
 * The chunks of a stream, in batches as they come, to its end. A connection that breaks is replaced, and the next one goes
 * on after the last chunk: none is lost, none comes twice.
 */
export async function* streamBatches(
  transport: Transport,
  { runId, key, lastId, onPosition }: StreamBatchesOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  const backoff = new Backoff(transport.settings, signal)
  const frames = new StreamFrames(key, lastId)
  for (;;) {
    const connection = transport.connect(signal)
    try {
      const response = await openStream(transport, { runId, key, lastId: frames.lastId }, connection)
      connection.heard(SILENCE_MS)
      requireEvents(response, key)
      backoff.succeeded()
      frames.begin(response)
      for await (const text of bodyText(response, connection)) {
        frames.feed(text)
        const chunks = frames.takeChunks()
        if (chunks.length > 0) {
          onPosition?.(frames.lastId)
          yield chunks
        }
        const failure = frames.takeFailure()
        if (failure !== undefined) throw failure
      }
      return
    } catch (error) {
      connection.close()
      await backoff.failed(error).catch((last: unknown) => {
        throw knownError(last, { kind: 'run', id: runId })
      })
    } finally {
      connection.close()
    }
  }
}

function openStream(
  transport: Transport,
  { runId, key, lastId }: StreamBatchesOptions,
  connection: Exchange,
): Promise<Response> {
  return transport.open(
    {
      path: `/realtime/v1/streams/${encodeURIComponent(runId)}/${encodeURIComponent(key)}`,
      headers: {
        accept: EVENTS,
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      subject: { kind: 'run', id: runId },
    },
    connection,
  )
}

/** What is something else, such as a page, would be a stream without a chunk. */
function requireEvents({ headers, status }: Response, key: string): void {
  const type = headers.get('content-type') ?? EVENTS
  if (!type.startsWith(EVENTS)) throw unreadable(`stream "${key}"`, { status, body: type })
}

/** The text of a body as it comes. */
async function* bodyText({ body }: Response, connection: Exchange): AsyncGenerator<string> {
  if (body === null) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      connection.heard()
      const { done, value } = await connection.during(reached(reader.read(), connection))
      connection.rest()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    // Not awaited: the other side may take its time, or for ever.
    reader.cancel().catch(() => undefined)
  }
}
