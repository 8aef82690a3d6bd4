import type { SegmentEnd } from '../../contract/records.ts'
import { StreamLaggedError } from '../../api/errors.ts'
import type { Reading } from '../../core/reading/reading.ts'
import { type ChunkPage, segmentFailure } from '../../core/reading/stream-reader.ts'
import { chunkFrames } from '../events/chunk-frames.ts'
import { errorFrame, frameOf } from '../events/sse-frame.ts'
/** Sent at once, so that whoever connects knows that it is. */
const OPENING = ': stream\n\n'

export interface StreamEventOptions {
  readonly key: string
  readonly pages: Reading<ChunkPage>
  /**
   * The published client takes every event for a chunk. It is told by an event only what it cannot know otherwise: that
   * chunks are gone.
   */
  readonly takesAllForChunks: boolean
}

/**
 * One stream as events: a chunk's id is its sequence number. Ends after the last chunk; of a stream that ends before its
 * time, because its source failed, its run was stopped, or its reader was too slow, the last event is an error.
 */
export async function* streamEvents({
  key,
  pages,
  takesAllForChunks,
}: StreamEventOptions): AsyncGenerator<string> {
  yield OPENING
  let next = 0
  let end: SegmentEnd | undefined
  try {
    for await (const page of pages) {
      yield* chunkFrames(page, (id, data) => frameOf({ id, data }))
      next = page.first + page.chunks.length
      end = page.end
    }
  } catch (error) {
    if (!(error instanceof StreamLaggedError)) throw error
    // Whoever comes again with this id gets what is still there.
    yield errorFrame(error, error.next - 1)
    return
  }
  const failure = end === undefined ? undefined : segmentFailure(end, { key, next })
  if (failure !== undefined && !takesAllForChunks) yield errorFrame(failure)
}
