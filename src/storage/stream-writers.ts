import type { ChunkRecord, RunRecord, SegmentEnd } from '../contract/records.ts'
import { isFinal } from '../contract/run-states.ts'
import { badness, worseEnd } from '../contract/segment-ends.ts'
import type { ChunkAdd, ChunkAppend } from '../contract/storage.ts'

/**
 * The runs that write the last segment of a stream, from the first `add` of another run on. Until then the run that has the stream is
 * alone, and there is no such record.
 */
export interface SegmentWriters {
  /** The sequence after the last chunk of the run that has the stream. Absent: it has not opened the segment. */
  readonly own?: number | undefined
  /** How the run that has the stream has ended the segment. */
  readonly ownEnd?: SegmentEnd | undefined
  readonly others: OtherWriters
}

/**
 * The other runs that write a segment. Thousands of children may write at once: a chunk looks at none of the others. One that has
 * written to the end is not kept.
 */
export class OtherWriters {
  readonly #open = new Set<string>()
  readonly #ended = new Map<string, SegmentEnd>()

  /** @param byId As `toJSON` answers it. */
  constructor(byId: Readonly<Record<string, SegmentEnd | null>> = {}) {
    for (const [runId, end] of Object.entries(byId)) this.note(runId, end ?? undefined)
  }

  /** Whether one of them goes on. */
  get areOpen(): boolean {
    return this.#open.size > 0
  }

  /** A run has written, and ended the segment or not. */
  note(runId: string, end: SegmentEnd | undefined): void {
    if (end === undefined) this.#open.add(runId)
    else this.#open.delete(runId)
    if (end === undefined || end.reason === 'done') this.#ended.delete(runId)
    else this.#ended.set(runId, end)
  }

  /** The worst end; of several that are as bad, that of the first run by id. */
  get worst(): SegmentEnd {
    let worst: readonly [string, SegmentEnd] = ['', DONE]
    for (const [runId, end] of this.#ended) {
      const difference = badness(end) - badness(worst[1])
      if (difference > 0 || (difference === 0 && runId < worst[0])) worst = [runId, end]
    }
    return worst[1]
  }

  /** By id: `null` for one that goes on. */
  toJSON(): Readonly<Record<string, SegmentEnd | null>> {
    return Object.fromEntries([...Array.from(this.#open, (runId) => [runId, null] as const), ...this.#ended])
  }
}

/** The run that has the stream has opened its segment. */
export function withOpened(writers: SegmentWriters, next: number): SegmentWriters {
  return writers.own === undefined ? { ...writers, own: next } : writers
}

/** How the segment has ended: none of the runs that write it goes on. */
export function endOfAll({ own, ownEnd, others }: SegmentWriters): SegmentEnd | undefined {
  const mine = own === undefined ? DONE : ownEnd
  if (mine === undefined || others.areOpen) return undefined
  return worseEnd(mine, others.worst)
}

const DONE: SegmentEnd = { reason: 'done' }

/** Whether other runs may write to the streams of a run: it has begun and has not ended. */
export function hasOpenStreams({ attempt, status }: RunRecord): boolean {
  return attempt > 0 && !isFinal(status)
}

/** The chunks of an `add` that are not stored yet: `last` is the number of the last one of the writer that is. */
export function notStored({ chunks, written }: ChunkAdd, last: number = -1): readonly ChunkRecord[] {
  if (written === undefined) return []
  return chunks.slice(Math.max(0, chunks.length - (written.last - last)))
}

/** An append of the run that has the stream, and what is stored. */
interface OwnAppend {
  readonly request: ChunkAppend
  readonly next: number
  readonly shared: SegmentWriters | undefined
  /** How the segment has ended, for a run that is alone. */
  readonly end: SegmentEnd | undefined
}

/** What an append of the run that has the stream does. */
export interface AppendPlan {
  /** Where its chunks end that were stored before. */
  readonly own: number
  /** Chunks of others are where it appends: it does nothing. */
  readonly isMoved: boolean
  /** Some of its chunks are stored, and those of others come after these: that is an error. */
  readonly isAcross: boolean
  readonly fresh: readonly ChunkRecord[]
  /** How the run had ended the segment, which gets no chunks now. */
  readonly ended: SegmentEnd | undefined
  /** Those that write the segment from then on; none for a run that is alone. */
  readonly shared: SegmentWriters | undefined
  /** How the segment has ended then. */
  readonly end: SegmentEnd | undefined
}

/** What an append of the run that has the stream does: it may be a repeated one, and others may have added chunks since. */
export function planAppend({ request, next, shared, end }: OwnAppend): AppendPlan {
  const { first, chunks } = request
  const own = shared?.own ?? next
  const isRepeated = first < own
  const fresh = isRepeated ? chunks.slice(own - first) : chunks
  const hasFresh = fresh.length > 0
  const isAcross = isRepeated && own < next && hasFresh
  // A segment that gets chunks after its end is open again, until it is ended anew.
  const ended = hasFresh ? undefined : shared === undefined ? end : shared.ownEnd
  const ownEnd = ended ?? request.end
  const after = shared && { ...shared, own: hasFresh ? next + fresh.length : own, ownEnd }
  return {
    own,
    isMoved: !isRepeated && first < next,
    isAcross,
    fresh,
    ended,
    shared: after,
    end: after === undefined ? ownEnd : endOfAll(after),
  }
}
