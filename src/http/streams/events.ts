import { StreamInterruptedError, StreamLaggedError } from '../../api/errors.ts'
import { type ChunkPage, segmentFailure } from '../../api/stream-page.ts'
import { chunkFrames } from '../events/chunk-frames.ts'
import { errorFrame, frameOf } from '../events/sse-frame.ts'
/** Sent at once, so that the client knows it is connected. */
const OPENING = ': stream\n\n'

export interface StreamEventOptions {
  readonly key: string
  readonly pages: AsyncIterable<ChunkPage>
  /**
   * The published client reads every event as a chunk. It receives other events only for facts it cannot learn
   * otherwise: that chunks are gone.
   */
  readonly takesAllForChunks: boolean
}

/**
 * One stream as events. The id of an event is the sequence of its chunk. The events end after the last chunk. If the
 * stream ends early, because its source failed, its run was stopped, or its reader lagged, the last event is an error. Where an
 * attempt was lost there is an error too, and the chunks of the next attempt follow it.
 */
export async function* streamEvents({
  key,
  pages,
  takesAllForChunks,
}: StreamEventOptions): AsyncGenerator<string> {
  yield OPENING
  try {
    for await (const page of pages) {
      yield* chunkFrames(page, (id, data) => frameOf({ id, data }))
      const next = page.first + page.chunks.length
      const failure = page.end && segmentFailure(page.end, { key, next })
      if (failure !== undefined && !takesAllForChunks) yield errorFrame(failure)
    }
  } catch (error) {
    // A client that resumes with this id receives everything from the start: what was sent is written again.
    if (error instanceof StreamInterruptedError) yield errorFrame(error, -1)
    // Or the chunks that are still kept.
    else if (error instanceof StreamLaggedError) yield errorFrame(error, error.next - 1)
    else throw error
  }
}
