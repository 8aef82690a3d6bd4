import type { SegmentEnd, SegmentRecord } from '../../contract/records.ts'
import type { SegmentWriters } from '../stream-writers.ts'

/** A row of `streams`. */
export interface StreamRow {
  readonly run_id: string
  readonly key: string
  readonly next: number
  readonly segments: string
}

/** A segment as it is stored: with the runs that write it, if there are others than the one that has the stream. */
export interface StoredSegment extends SegmentRecord {
  readonly shared?: SegmentWriters | undefined
}

export function segmentsOf({ segments }: Pick<StreamRow, 'segments'>): readonly StoredSegment[] {
  return JSON.parse(segments) as readonly StoredSegment[]
}

/** A segment as readers see it. */
export function shownSegment({ shared: _, ...segment }: StoredSegment): SegmentRecord {
  return segment
}

/** The segment with another end, and another list of those that write it. */
export function changedSegment(
  { attempt, first }: SegmentRecord,
  { end, shared }: Pick<StoredSegment, 'end' | 'shared'>,
): StoredSegment {
  return { attempt, first, ...(end && { end }), ...(shared && { shared }) }
}

/** The segments with the last one ended, as a column; `undefined` when it has ended already. */
export function endSegment(row: Pick<StreamRow, 'segments'>, end: SegmentEnd): string | undefined {
  const segments = segmentsOf(row)
  const last = segments.at(-1)
  if (last === undefined || last.end !== undefined) return undefined
  return JSON.stringify([...segments.slice(0, -1), { ...last, end }])
}
