import { StreamInterruptedError, StreamLaggedError, type WaitpointError } from '../api/errors.ts'
import { frameOf } from './events/sse-frame.ts'

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
