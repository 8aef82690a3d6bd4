import { unreadable } from '../connection/api-error.ts'
import { Backoff } from '../connection/backoff.ts'
import type { Exchange } from '../connection/exchange.ts'
import { knownError } from '../connection/known-error.ts'
import { StreamFrames } from '../wire/stream-frames.ts'
import { reached, type Transport } from '../connection/transport.ts'

/** A service sends at least a comment within this time. A longer silence is a failure. */
const SILENCE_MS = 90_000
const EVENTS = 'text/event-stream'

/** The stream to read, and the position to begin at. */
export interface StreamBatchesOptions {
  readonly runId: string
  readonly key: string
  /** The position to continue after; `undefined` for the beginning. */
  readonly lastId?: string | undefined
  /** Called with the position after each batch, so that a later subscription can continue there. */
  readonly onPosition?: (lastId: string | undefined) => void
}

/**
 * The chunks of a stream to its end, in batches as they arrive. A broken connection is replaced, and the next one
 * continues after the last chunk: no chunk is lost or repeated.
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

/** A different answer, such as a web page, would look like an empty stream. */
function requireEvents({ headers, status }: Response, key: string): void {
  const type = headers.get('content-type') ?? EVENTS
  if (!type.startsWith(EVENTS)) throw unreadable(`stream "${key}"`, { status, body: type })
}

/** The text of a body as it arrives. */
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
    // Not awaited: the service may take long to stop, or never stop.
    reader.cancel().catch(() => undefined)
  }
}
