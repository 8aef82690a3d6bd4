import type {
  ChunkRecord,
  RunRecord,
  SegmentRecord,
  TokenRecord,
  WaitRecord,
} from '../../contract/records.ts'
import type { PoolScope } from '../../contract/pools.ts'
import type { SegmentWriters } from '../stream-writers.ts'
import type { Deadline } from '../../primitives/deadline-queue.ts'
import type { RingBuffer } from '../../primitives/ring-buffer.ts'
import type { Few } from '../../primitives/few.ts'
import type { OwnTokens } from './own-tokens.ts'
import { NOWHERE, type Ordered, OrderedHeap } from '../../primitives/ordered-heap.ts'
import { isFinal } from '../../contract/run-states.ts'

/*
 * Entries of the memory storage: records, and the links between them. One file, because they name each
 * other. Records are replaced, never changed; everything else here is a field of its own, so that a parked run costs
 * no collection.
 */

export class RunEntry implements Ordered {
  record: RunRecord
  readonly lane: Lane
  /** The pools of its limits, besides its lane. */
  readonly pools: readonly Lane[]
  /** The lease that holds it, be it lost; none before the first claim, after a graceful end and when it is final. */
  holder: Lease | undefined = undefined
  /** The waits of the run. */
  waits: Few<Wait> = undefined
  /** The waits for its end. */
  waiters: Few<Wait> = undefined
  /** The tokens it created. */
  created: OwnTokens<TokenEntry> = undefined
  streams: Map<string, StreamEntry> | undefined = undefined
  /** Its place among the runs of its task. */
  position = 0
  /** When it is next to be looked at. */
  deadline: Deadline<RunEntry> | undefined = undefined
  /** Where it stands in line to be claimed. */
  line: Line | undefined = undefined
  /** What has ended and is kept for it, and the tokens of no run that it has waited for. */
  kept: Few<EndedEntry> = undefined
  /** The runs with a place that is bound to it. */
  binders: Few<RunEntry> = undefined
  /** Its place in that line; once it is final, in the order of ending. */
  rank = 0
  at = 0
  order = 0
  place: number = NOWHERE
  /** Its memory, as counted when it entered that order. */
  bytes = 0
  isDropped = false

  constructor(record: RunRecord, lane: Lane, pools: readonly Lane[]) {
    this.record = record
    this.lane = lane
    this.pools = pools
  }

  get id(): string {
    return this.record.id
  }
}

export class TokenEntry implements Ordered {
  record: TokenRecord
  /** The run that created it, as long as it is there. */
  creator: RunEntry | undefined
  /** Of a token that no run created: a run that is not over and waits, or waited, for it. */
  asker: RunEntry | undefined = undefined
  /** A run that had its answer is over. */
  isAnswered = false
  waiters: Few<Wait> = undefined
  /** Its time-out; once it is settled, how long it is needed. */
  deadline: Deadline<unknown> | undefined = undefined
  /** Its place among the tokens of its kind. */
  position = 0
  /** Its place in the order of ending. */
  rank = 0
  at = 0
  order = 0
  place: number = NOWHERE
  /** Its memory, as counted when it entered that order. */
  bytes = 0
  isDropped = false

  constructor(record: TokenRecord, creator: RunEntry | undefined) {
    this.creator = creator
    this.record = record
  }

  get id(): string {
    return this.record.id
  }
}

/** The source of a wait: a token, or the end of another run. */
export type WaitSource = TokenEntry | RunEntry

/** A settled token or a finished run. */
export type EndedEntry = TokenEntry | RunEntry

export class Wait {
  readonly run: RunEntry
  readonly source: WaitSource
  readonly owner: string
  /** Set once the wait is ready; its owner is handed this until it releases the wait. */
  ready: WaitRecord | undefined = undefined

  constructor(run: RunEntry, source: WaitSource) {
    this.run = run
    this.source = source
    this.owner = run.record.owner ?? ''
  }
}

/** An engine, alive until `until`. */
export class Lease {
  readonly owner: string
  until: number
  /** Its last tick; unknown when the lease had no end until another engine came. */
  heardAt: number | undefined = undefined
  isLive = true
  /** The number of its last claim. */
  claim = 0
  /** How many runs it holds. */
  runs = 0
  /** How many executed when it was lost. */
  executing = 0
  /** Waits that are ready and were not released. */
  ready: Few<Wait> = undefined
  deadline: Deadline<Lease> | undefined = undefined

  constructor(owner: string, until: number) {
    this.owner = owner
    this.until = until
  }
}

/** The scope in which a limit counts: a queue, or one concurrency key of it; also the pool of a limit that runs have besides. */
export class Lane implements PoolScope {
  readonly id: string
  readonly name: string
  readonly counts: PoolScope['counts']
  /** Runs that are not over. */
  members = 0
  /** Runs that hold a slot. */
  slots = 0
  /** Parked runs that found no slot and get the next ones. */
  reserved: Few<RunEntry> = undefined
  /** Of a lane; a pool of a limit has none. */
  readonly lines: Line[] = []
  /** Of a pool of a limit: the lines that it has closed, by their tasks. */
  closed: Map<TaskLines, OrderedHeap<Line>> | undefined = undefined

  constructor(id: string, name: string, counts: PoolScope['counts']) {
    this.id = id
    this.name = name
    this.counts = counts
  }
}

/** The runs of one task in one lane, with the same limits, that could be claimed, first come first served; sorted by its first run. */
export class Line implements Ordered {
  readonly lane: Lane | undefined
  readonly pools: readonly Lane[]
  readonly task: TaskLines
  readonly runs: OrderedHeap<RunEntry> = new OrderedHeap()
  /** The lane or the pool that was full when a claim last came by, or the lane whose rate did not let the next run start. */
  closedBy: Lane | undefined = undefined
  /** Where it stands, if its `place` is in one. */
  heap: OrderedHeap<Line> | undefined = undefined
  /** When the rate lets the next run start; none if a claim has not found it held back. */
  nextStart: Deadline<Line> | undefined = undefined
  rank = 0
  at = 0
  order = 0
  place: number = NOWHERE

  constructor(task: TaskLines, lane: Lane | undefined, pools: readonly Lane[]) {
    this.task = task
    this.lane = lane
    this.pools = pools
  }

  get isClosed(): boolean {
    return this.closedBy !== undefined
  }
}

/** The lines of one task that are neither empty nor closed. */
export class TaskLines {
  readonly taskId: string
  readonly open: OrderedHeap<Line> = new OrderedHeap()
  /** For runs that need no slot, because they hold theirs still. */
  readonly unbound: Line = new Line(this, undefined, [])

  constructor(taskId: string) {
    this.taskId = taskId
  }
}

export class StreamEntry {
  segments: readonly SegmentRecord[] = []
  /** None before the first chunk: its limits come with the chunks. */
  ring: RingBuffer<ChunkRecord> | undefined = undefined
  /** The number of the last chunk of each writer outside of the run. The writer that wrote longest ago comes first. */
  writers: Map<string, number> | undefined = undefined
  /** The runs that write the last segment, once there is another one than that which has the stream. */
  shared: SegmentWriters | undefined = undefined
}

/** Whether an engine that is alive, as far as other engines have noticed, holds the run. */
export function isHeld(run: RunEntry): boolean {
  return run.holder?.isLive === true
}

export function isSettled(source: WaitSource): boolean {
  return source instanceof RunEntry ? isFinal(source.record.status) : source.record.status !== 'WAITING'
}
