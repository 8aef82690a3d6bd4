import { StreamInterruptedError, StreamLaggedError, type WaitpointError } from '../../api/errors.ts'

/** One event of `text/event-stream`. */
export interface ServerEvent {
  /** The client sends it back as `Last-Event-ID`. */
  readonly id?: string | number | undefined
  readonly event?: string | undefined
  /** Raw text. */
  readonly data: string
}

/** A comment, sent after a silence as a sign of life. */
export const PING = ': ping\n\n'

/** The text of an event. Hot: called for every chunk and reader. */
export function frameOf({ id, event, data }: ServerEvent): string {
  const head = event === undefined ? '' : `event: ${event}\n`
  return `${head}${id === undefined ? '' : `id: ${id}\n`}data: ${onLines(data)}\n\n`
}

/** An id without an event. It moves the position of a client that receives nothing. */
export function idFrame(id: string): string {
  return `id: ${id}\n\n`
}

/** JSON text made by the engine has no line breaks; other text may have some. */
function onLines(data: string): string {
  return data.includes('\n') || data.includes('\r') ? data.split(/\r\n|\n|\r/).join('\ndata: ') : data
}

/**
 * The event that ends a stream early: `event: error`, with `code`, `message`, and the stream and the position from which
 * a reader may continue. With `id`, `Last-Event-ID` leads there.
 */
export function errorFrame(error: WaitpointError, id?: string | number): string {
  const { code, message } = error
  const missed = error instanceof StreamLaggedError ? { missed: error.missed } : {}
  const isPlace = error instanceof StreamLaggedError || error instanceof StreamInterruptedError
  const place = isPlace ? { key: error.key, next: error.next } : {}
  const data = JSON.stringify({ error: { code, message, ...missed, ...place } })
  return frameOf({ event: 'error', id, data })
}
