import { StreamLaggedError } from '../../api/errors.ts'
import type { FollowedPart } from '../../core/reading/followed-streams.ts'
import type { Reading } from '../../core/reading/reading.ts'
import { chunkFrames } from '../events/chunk-frames.ts'
import { errorFrame, frameOf, idFrame } from '../events/sse-frame.ts'
import type { RunCursor } from './run-cursor.ts'

/**
 * The parts of `withStreams()` as events: `run` with `{ type, run }`, `chunk` with `{ type, chunk }`. The id of each
 * event is the position in all streams. A reader that lagged receives an `error` and the end; when it resumes, it
 * receives the chunks that are still kept. See docs/streams.md.
 */
export async function* runEvents(parts: Reading<FollowedPart>, cursor: RunCursor): AsyncGenerator<string> {
  try {
    for await (const part of parts) {
      if (part.type === 'run') {
        const { type, run } = part
        yield frameOf({ event: 'run', id: cursor.toString(), data: JSON.stringify({ type, run }) })
        continue
      }
      const { key, first, chunks } = part
      const prefix = cursor.prefix(key)
      const head = `{"type":${JSON.stringify(key)},"chunk":`
      yield* chunkFrames(part, (sequence, json) =>
        frameOf({ event: 'chunk', id: `${prefix}${sequence + 1}`, data: `${head}${json}}` }),
      )
      cursor.moveTo(key, first + chunks.length)
    }
  } catch (error) {
    if (!(error instanceof StreamLaggedError)) throw error
    cursor.moveTo(error.key, error.next)
    yield errorFrame(error, cursor.toString())
    return
  }
  yield idFrame(cursor.end)
}
