import type { ChunkRecord, SegmentEnd } from '../contract/records.ts'
import { StreamInterruptedError, WaitpointError } from './errors.ts'
import type { Run } from './run.ts'
import { errorFromJson } from './serialize.ts'

/** The next page of a reader: chunks of one attempt, maybe none, and how their segment ended once it has. */
export interface ChunkPage {
  readonly attempt: number
  /** The sequence number of the first one. */
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
  /** Only once everything before it was taken. */
  readonly end?: SegmentEnd
  /** Whether the next attempt has written to the stream as well. */
  readonly hasNext: boolean
  /** Where the segment begins. */
  readonly start: number
  /** Whether a later attempt has written to the stream, or may. */
  readonly isLost: boolean
}

/** The next part of a run and its streams: the run as it is, or chunks of one key in a row. */
export type FollowedPart =
  | { readonly type: 'run'; readonly run: Run }
  | {
      readonly type: 'chunks'
      readonly run: Run
      readonly key: string
      /** The attempt that wrote them. */
      readonly attempt: number
      /** The sequence number of the first one. */
      readonly first: number
      readonly chunks: readonly ChunkRecord[]
    }

/** The error that the end of a segment is to its readers; `next` is the chunk they would read next. */
export function segmentFailure(
  end: SegmentEnd,
  { key, next }: { readonly key: string; readonly next: number },
): WaitpointError | undefined {
  if (end.reason === 'done') return undefined
  if (end.reason === 'interrupted') return new StreamInterruptedError(key, next)
  const cause = errorFromJson(end.errorJson)
  const message = `Cannot read on in stream "${key}": its source threw: ${cause.message}`
  return new WaitpointError('ERR_STREAM_FAILED', message, { cause })
}
