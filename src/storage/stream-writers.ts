import type { ChunkRecord, RunRecord, SegmentEnd } from '../contract/records.ts'
import { isFinal } from '../contract/run-states.ts'
import type { ChunkAdd } from '../contract/storage.ts'

/**
 * The runs that write the last segment of a stream, from the first `add` of another run on. Until then the run that has the stream is
 * alone, and there is no such record.
 */
export interface SegmentWriters {
  /** The sequence after the last chunk of the run that has the stream. Absent: it has not opened the segment. */
  readonly own?: number | undefined
  /** How the run that has the stream has ended the segment. */
  readonly ownEnd?: SegmentEnd | undefined
  /** The other runs, by id: `null` for one that goes on. One that has written to the end is not among them. */
  readonly others: Readonly<Record<string, SegmentEnd | null>>
}

/** Another run has written, and ended the segment or not. */
export function withOther(
  writers: SegmentWriters,
  runId: string,
  end: SegmentEnd | undefined,
): SegmentWriters {
  const { [runId]: _, ...rest } = writers.others
  return { ...writers, others: end?.reason === 'done' ? rest : { ...rest, [runId]: end ?? null } }
}

/** The run that has the stream has opened its segment. */
export function withOwn(writers: SegmentWriters, next: number): SegmentWriters {
  return writers.own === undefined ? { ...writers, own: next } : writers
}

/** How the segment has ended: none of the runs that write it goes on. */
export function endOfAll({ own, ownEnd, others }: SegmentWriters): SegmentEnd | undefined {
  const byId = Object.keys(others).sort()
  const ends = [own === undefined ? DONE : ownEnd, ...byId.map((id) => others[id])]
  let worst: SegmentEnd = DONE
  for (const end of ends) {
    if (end === undefined || end === null) return undefined
    if (badness(end) > badness(worst)) worst = end
  }
  return worst
}

const DONE: SegmentEnd = { reason: 'done' }

function badness(end: SegmentEnd): number {
  if (end.reason === 'interrupted') return end.isIntended === true ? 1 : 2
  return end.reason === 'done' ? 0 : 3
}

/** Whether other runs may write to the streams of a run: it has begun and has not ended. */
export function hasOpenStreams({ attempt, status }: RunRecord): boolean {
  return attempt > 0 && !isFinal(status)
}

/** The chunks of an `add` that are not stored yet: `last` is the number of the last one of the writer that is. */
export function notStored({ chunks, written }: ChunkAdd, last: number = -1): readonly ChunkRecord[] {
  if (written === undefined) return []
  return chunks.slice(Math.max(0, chunks.length - (written.last - last)))
}
