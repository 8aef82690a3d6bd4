import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { PING_SECONDS } from '../../hosted/headers.ts'
import { defined } from '../../primitives/defined.ts'
import { unreadable } from '../connection/api-error.ts'
import { Backoff } from '../connection/backoff.ts'
import { TurnOverError } from '../connection/page.ts'
import type { Exchange } from '../connection/exchange.ts'
import type { ConnectionState } from '../namespaces.ts'
import { type ApiRequest, reached, type Transport } from '../connection/transport.ts'

/** A service that does not say how often it sends something sends at least a comment within this time. */
const SILENCE_MS = 90_000
/** So many signs of life may be missing: one that comes late is no dead connection. */
const MISSING_PINGS = 2.5
const EVENTS = 'text/event-stream'

/** An event stream as its reader takes it, over as many connections as it takes. */
export interface EventSource<Item> {
  /** Its name in messages. */
  readonly what: string
  /** The request for everything after what was read. */
  request(): Omit<ApiRequest, 'headers'> & { readonly lastId: string | undefined }
  /** A connection begins. An incomplete event of the last one is dropped; it comes again. */
  begin?(response: Response): void
  /** The items of the next events. Throws an error that the service sent, after the items before it. */
  read(events: readonly EventSourceMessage[]): Generator<Item>
  /** The answer has ended. Throws if it may not have ended here. */
  end(): void
}

/** The reader of an event stream. */
export interface Follower {
  readonly signal: AbortSignal
  readonly onConnection?: ((state: ConnectionState) => void) | undefined
  readonly keepTrying?: boolean | undefined
}

/**
 * The items of an event stream to its end. A connection that breaks, or is silent for too long, is replaced, and the next
 * one continues after the last item.
 */
export async function* readEvents<Item>(
  transport: Transport,
  source: EventSource<Item>,
  { signal, onConnection, keepTrying }: Follower,
): AsyncGenerator<Item> {
  const { settings } = transport
  const backoff = new Backoff(settings, signal, keepTrying)
  let { timeoutMs } = settings
  for (;;) {
    const connection = transport.connect(signal, timeoutMs)
    const { lastId, ...request } = source.request()
    const headers = defined({ accept: EVENTS, 'last-event-id': lastId })
    try {
      await transport.mayFollow(connection)
      const response = await transport.open({ ...request, headers }, connection)
      const silence = silenceMs(response)
      connection.heard(silence)
      requireEvents(response, source.what)
      // From now on, a service that sends nothing is one that is not there.
      timeoutMs = Math.min(silence, settings.timeoutMs)
      backoff.succeeded()
      source.begin?.(response)
      onConnection?.('live')
      connection.came('')
      const events: EventSourceMessage[] = []
      const parser = createParser({ onEvent: (event) => void events.push(event) })
      for await (const text of bodyText(response, connection)) {
        connection.came(text)
        parser.feed(text)
        yield* source.read(events.splice(0))
      }
      source.end()
      return
    } catch (error) {
      connection.close()
      // One that is in line has a connection again in a moment.
      if (!(error instanceof TurnOverError)) onConnection?.('reconnecting')
      await backoff.failed(error, request.ids?.[0])
    } finally {
      connection.close()
    }
  }
}

/** How long a living connection may be silent. */
function silenceMs({ headers }: Response): number {
  const seconds = Number(headers.get(PING_SECONDS))
  return seconds > 0 ? seconds * MISSING_PINGS * 1_000 : SILENCE_MS
}

/** A different answer, such as a web page, would look like an empty stream. */
function requireEvents({ headers, status }: Response, what: string): void {
  const type = headers.get('content-type') ?? EVENTS
  if (!type.startsWith(EVENTS)) throw unreadable(what, { status, body: type })
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
