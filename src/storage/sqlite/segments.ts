import type { SegmentEnd, SegmentRecord } from '../../contract/records.ts'

/** A row of `streams`. */
export interface StreamRow {
  readonly run_id: string
  readonly key: string
  readonly next: number
  readonly segments: string
}

export function segmentsOf({ segments }: Pick<StreamRow, 'segments'>): readonly SegmentRecord[] {
  return JSON.parse(segments) as readonly SegmentRecord[]
}

/** The segments with the last one ended, as a column; `undefined` when it has ended already. */
export function endSegment(row: Pick<StreamRow, 'segments'>, end: SegmentEnd): string | undefined {
  const segments = segmentsOf(row)
  const last = segments.at(-1)
  if (last === undefined || last.end !== undefined) return undefined
  return JSON.stringify([...segments.slice(0, -1), { ...last, end }])
}
