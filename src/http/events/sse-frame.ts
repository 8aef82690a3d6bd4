import { StreamInterruptedError, StreamLaggedError, type WaitpointError } from '../../api/errors.ts'

/** One event of `text/event-stream`. */
export interface ServerEvent {
  /** What the client sends as `Last-Event-ID` after this event. */
  readonly id?: string | number | undefined
  readonly event?: string | undefined
  /** Text, as it is. */
  readonly data: string
}

/** Sent when nothing has been for long: no event, only a sign of life. */
export const PING = ': ping\n\n'

/** The text of an event. Hot: once for every chunk and reader. */
export function frameOf({ id, event, data }: ServerEvent): string {
  const head = event === undefined ? '' : `event: ${event}\n`
  return `${head}${id === undefined ? '' : `id: ${id}\n`}data: ${onLines(data)}\n\n`
}

/** An id without an event: where a client stands that has nothing to show for it. */
export function idFrame(id: string): string {
  return `id: ${id}\n\n`
}

/** JSON text that we made has no line ends; text of others may. */
function onLines(data: string): string {
  return data.includes('\n') || data.includes('\r') ? data.split(/\r\n|\n|\r/).join('\ndata: ') : data
}

/**
 * The event that ends a stream before its time: `event: error`, with `code`, `message`, and where it goes on for who asks
 * again. With `id`, that is where `Last-Event-ID` leads.
 */
export function errorFrame(error: WaitpointError, id?: string | number): string {
  const { code, message } = error
  const missed = error instanceof StreamLaggedError ? { missed: error.missed } : {}
  const isPlace = error instanceof StreamLaggedError || error instanceof StreamInterruptedError
  const next = isPlace ? { next: error.next } : {}
  const data = JSON.stringify({ error: { code, message, ...missed, ...next } })
  return frameOf({ event: 'error', id, data })
}
