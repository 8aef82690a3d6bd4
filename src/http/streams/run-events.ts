import { StreamInterruptedError, StreamLaggedError } from '../../api/errors.ts'
import type { Run } from '../../api/run.ts'
import type { FollowedPart } from '../../api/stream-page.ts'
import { chunkFrames } from '../events/chunk-frames.ts'
import { errorFrame, frameOf, idFrame } from '../events/sse-frame.ts'
import type { Caller } from '../access/caller.ts'
import { withPlainValues } from '../runs/json.ts'
import { shownRun } from '../runs/shown.ts'
import type { RunCursor } from './run-cursor.ts'

/** The last event of those without ids. */
const END = frameOf({ event: 'end', data: '{}' })

export interface RunEventOptions {
  readonly cursor: RunCursor
  readonly caller: Caller
  /** Whether events have ids. Of a run with many streams each id is long. */
  readonly hasIds: boolean
}

/**
 * The parts of `withStreams()` as events: `run` with `{ type, run }`, `chunk` with `{ type, chunk, attempt, sequence }`.
 * The id of each event is the position in all streams. A reader that lagged receives an `error` and the end; when it
 * resumes, it receives the chunks that are still kept. An `error` also comes last if the run completed without all of its
 * chunks. See docs/in-the-browser.md.
 */
export async function* runEvents(
  parts: AsyncIterable<FollowedPart>,
  { cursor, caller, hasIds }: RunEventOptions,
): AsyncGenerator<string> {
  try {
    for await (const part of parts) {
      if (part.type === 'run') {
        const id = hasIds ? cursor.toString() : undefined
        yield frameOf({ event: 'run', id, data: runText(part.run, caller) })
        continue
      }
      const { key, attempt, first, chunks } = part
      const prefix = hasIds ? cursor.prefix(key) : undefined
      const head = `{"type":${JSON.stringify(key)},"chunk":`
      const middle = `,"attempt":${attempt},"sequence":`
      yield* chunkFrames(part, (sequence, json) => {
        const id = prefix === undefined ? undefined : `${prefix}${sequence + 1}`
        return frameOf({ event: 'chunk', id, data: `${head}${json}${middle}${sequence}}` })
      })
      cursor.moveTo(key, first + chunks.length)
    }
  } catch (error) {
    if (error instanceof StreamInterruptedError) {
      yield errorFrame(error, hasIds ? cursor.end : undefined)
      return
    }
    if (!(error instanceof StreamLaggedError)) throw error
    cursor.moveTo(error.key, error.next)
    yield errorFrame(error, hasIds ? cursor.toString() : undefined)
    return
  }
  yield hasIds ? idFrame(cursor.end) : END
}

/** The texts of runs that many readers share, for secret keys and for access tokens. */
interface RunTexts {
  forKeys?: string
  forTokens?: string
}

const texts = new WeakMap<Run, RunTexts>()

/** The data of a run event: made once for all readers that see the same of the run. */
function runText(run: Run, caller: Caller): string {
  if (caller.skipColumns.size > 0) return eventData(run, caller)
  const made = texts.get(run) ?? {}
  texts.set(run, made)
  if (caller.hasSecretKey) return (made.forKeys ??= eventData(run, caller))
  return (made.forTokens ??= eventData(run, caller))
}

function eventData(run: Run, caller: Caller): string {
  return JSON.stringify({ type: 'run', run: shownRun(withPlainValues(run), caller) })
}
