import { StreamInterruptedError, StreamLaggedError, WaitpointError } from '../api/errors.ts'
import { ApiError } from './connection/api-error.ts'
import { errorOf, readStoredError } from './wire/error.ts'
import { WireRecord } from './wire/record.ts'

/** What a service says in the middle of a stream: an error of the engine, or one that connecting again may mend. */
export function streamError(key: string, body: unknown): Error {
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
