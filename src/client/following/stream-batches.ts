import { READ_STREAM_ADDRESS } from '../../hosted/addresses.ts'
import { StreamFrames } from '../wire/stream-frames.ts'
import type { Transport } from '../connection/transport.ts'
import { type EventSource, type Follower, readEvents } from './read-events.ts'

/** The stream to read, and the position to begin at. */
export interface StreamBatchesOptions extends Omit<Follower, 'signal'> {
  readonly runId: string
  readonly key: string
  /** The position to continue after; `undefined` for the beginning. */
  readonly lastId?: string | undefined
  /** The number of the first chunk, if the reader of the stream chose it. */
  readonly startIndex?: number | undefined
  /** Only what no later attempt writes again. */
  readonly isLast?: boolean
  /** `run`: to the end of the run. */
  readonly until?: 'run' | undefined
  /** Called with the position after each batch, so that a later subscription can continue there. */
  readonly onPosition?: (lastId: string | undefined) => void
}

/**
 * The chunks of a stream to its end, in batches as they arrive. A broken connection is replaced, and the next one
 * continues after the last chunk: no chunk is lost or repeated.
 */
export function streamBatches(
  transport: Transport,
  options: StreamBatchesOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[]> {
  return readEvents(transport, batchesOf(options), { ...options, signal })
}

function batchesOf({
  runId,
  key,
  lastId,
  startIndex,
  isLast,
  until,
  onPosition,
}: StreamBatchesOptions): EventSource<readonly unknown[]> {
  const frames = new StreamFrames(key, lastId)
  return {
    what: `stream "${key}"`,
    request: () => ({
      address: READ_STREAM_ADDRESS,
      ids: [runId, key],
      lastId: frames.lastId,
      // The reader chose this place. Where it goes on later, a connection was cut.
      query: {
        startIndex: frames.lastId === lastId ? startIndex?.toString() : undefined,
        attempts: isLast ? 'last' : undefined,
        until,
      },
    }),
    begin: (response) => frames.begin(response),
    *read(events) {
      const { chunks, failure } = frames.take(events)
      if (chunks.length > 0) {
        onPosition?.(frames.lastId)
        yield chunks
      }
      if (failure !== undefined) throw failure
    },
    // The service ends an answer with its stream, and breaks it off otherwise.
    end: () => undefined,
  }
}
