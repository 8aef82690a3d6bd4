import type { SegmentEnd, SegmentRecord } from '../../contract/records.ts'
import { OtherWriters, type SegmentWriters } from '../stream-writers.ts'

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
  const stored = JSON.parse(segments) as readonly (SegmentRecord | SharedSegment)[]
  const last = stored.at(-1)
  if (last === undefined || !('shared' in last)) return stored as readonly SegmentRecord[]
  const { shared } = last
  return [...stored.slice(0, -1), { ...last, shared: { ...shared, others: new OtherWriters(shared.others) } }]
}

/** The last segment as its text says it. */
interface SharedSegment extends SegmentRecord {
  readonly shared: Omit<SegmentWriters, 'others'> & { readonly others: ReturnType<OtherWriters['toJSON']> }
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
