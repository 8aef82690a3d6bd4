import { limitPools, type PoolScope, queuePool } from '../../contract/pools.ts'
import { isSameRate } from '../../contract/queue-rates.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { QueueRate, RunLimit } from '../../contract/storage.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { countOf, type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import { Lane, Line, RunEntry, TaskLines } from './entries.ts'
import { isBefore, NOWHERE, OrderedHeap } from '../../primitives/ordered-heap.ts'
import { StartBook } from './start-book.ts'

/** Runs that go on come before runs that start. */
export const RESUMED = 0
export const QUEUED = 1

/** Lanes without a run that are kept for the next one; beyond that they go, for concurrency keys come without end. */
const IDLE_LANES = 1_000

const NO_POOLS: readonly Lane[] = []

/** What a claim may take: the limits and rates that are in force at its instant. */
export interface Allowance {
  readonly queues: ReadonlyMap<string, number>
  readonly limits: ReadonlyMap<string, RunLimit>
  readonly rates: ReadonlyMap<string, QueueRate>
  readonly now: number
}

interface ClosedLines {
  /** The lowest limit at which one of them was found full. */
  limit: number
  /** The rate that held one of them back last. */
  rate: QueueRate | undefined
  readonly lines: Set<Line>
}

/**
 * The runs that could be claimed, and the slots of their lanes.
 *
 * Runs stand in one line per task and lane, lines in one heap per task: a claim looks at the first line of each task
 * that has any. A line whose lane is full is taken out (*closed*) until a slot of that lane is given back or a claim
 * comes with a higher limit, and one that a rate holds back until the next run may start, so that no claim walks over runs that cannot start.
 *
 * Runs with further limits have lines of their own. The lines that a pool of a limit has closed stand in a heap of it for each task: with
 * a slot that is given back the first of them is opened, and the next one when that leaves the slot.
 */
export class RunLanes {
  readonly #lanes = new Map<string, Lane>()
  /** The pools of further limits. */
  readonly #pools = new Map<string, Lane>()
  readonly #tasks = new Map<string, TaskLines>()
  /** Tasks with an open line. */
  #busy: Few<TaskLines> = undefined
  readonly #closed: Readonly<Record<PoolScope['counts'], Map<string, ClosedLines>>> = {
    queue: new Map(),
    total: new Map(),
    perKey: new Map(),
  }
  /** Runs that stand in no line: their owner died, or has left, after it died with them before. */
  readonly suspects: Set<RunEntry> = new Set()
  readonly starts: StartBook = new StartBook()
  /** The closed lines that a rate holds back. */
  readonly #heldBack = new DeadlineQueue<Line>()
  #arrivals = 0

  /** Whether some run is a suspect or stands in an open line. */
  get hasOpenLine(): boolean {
    return this.#busy !== undefined || this.suspects.size > 0
  }

  /** Whether a line is closed because its lane or a pool was full. */
  get hasFullLine(): boolean {
    for (const counts of COUNTS)
      for (const { limit } of this.#closed[counts].values()) if (limit < Infinity) return true
    return false
  }

  /** When a rate lets a run start that it holds back. */
  get nextStartAt(): number | undefined {
    return this.#heldBack.peek()?.at
  }

  /** The runs of a queue, or with a limit, that hold a slot, and those that were refused one. */
  countsOf(name: string): { readonly slots: number; readonly refused: number } {
    let [slots, refused] = [0, 0]
    const count = (lane: Lane): void => {
      if (lane.name !== name || lane.counts === 'perKey') return
      slots += lane.slots
      refused += countOf(lane.reserved)
    }
    this.#lanes.forEach(count)
    this.#pools.forEach(count)
    return { slots, refused }
  }

  /** Opens the closed lines of a queue or a limit: it may be another one now. */
  openQueue(name: string): void {
    for (const counts of COUNTS)
      for (const line of this.#closed[counts].get(name)?.lines ?? []) this.#open(line)
  }

  /** A new run, in its lane. */
  join(record: RunRecord): RunEntry {
    const { queue, concurrencyKey, limits } = record
    const lane = laneIn(this.#lanes, { id: queuePool(queue, concurrencyKey), name: queue, counts: 'queue' })
    const pools =
      limits === undefined ? NO_POOLS : limitPools(record).map((pool) => laneIn(this.#pools, pool))
    return new RunEntry(record, lane, pools)
  }

  /** A run is over. */
  quit({ lane, pools }: RunEntry): void {
    leaveLane(this.#lanes, lane)
    for (const pool of pools) leaveLane(this.#pools, pool)
  }

  /** The run could be claimed from now on. */
  enter(run: RunEntry, rank: number, at: number): void {
    const line = this.#lineOf(run)
    run.rank = rank
    run.at = at
    run.order = this.#arrivals++
    run.line = line
    line.runs.add(run)
    // Reservations hold back queued runs only.
    if (line.isClosed && rank === RESUMED) this.#open(line)
    else if (line.runs.first === run) this.#arrange(line)
  }

  /** The run can no longer be claimed. */
  exit(run: RunEntry): void {
    const line = run.line
    if (this.suspects.size > 0) this.suspects.delete(run)
    if (line === undefined) return
    run.line = undefined
    line.runs.remove(run)
    if (line.isClosed && line.runs.first === undefined) this.#open(line)
    else this.#arrange(line)
    if (line.runs.first === undefined) this.#leaveSlots(line)
  }

  /** The run to claim next, left where it stands. */
  next(taskIds: readonly string[], allowance: Allowance): RunEntry | undefined {
    let best: Line | undefined
    for (const task of itemsOf(this.#busy)) {
      if (!taskIds.includes(task.taskId)) continue
      const line = this.#firstAllowed(task, allowance)
      if (line !== undefined && (best === undefined || isBefore(line, best))) best = line
    }
    return best?.runs.first
  }

  /** A run that `next` has answered is claimed: if it starts, its rate counts it. */
  countStart({ line, lane }: RunEntry, { rates, now }: Allowance): void {
    if (rates.size === 0 || line?.lane === undefined || line.rank === RESUMED) return
    const rate = rates.get(lane.name)
    if (rate !== undefined) this.starts.add(lane.id, rate, now)
  }

  /** Opens the lines that are not to be closed any more: their limit is higher now, their rate another one, or a run may start. */
  apply(allowance: Allowance): void {
    const { rates, now } = allowance
    for (let due = this.#heldBack.popDue(now); due !== undefined; due = this.#heldBack.popDue(now))
      this.#open(due.value)
    for (const counts of COUNTS)
      for (const [name, { limit, rate, lines }] of this.#closed[counts]) {
        const isHigher = mostOf({ name, counts }, allowance) > limit
        if (!isHigher && (rate === undefined || isSameRate(rate, rates.get(name)))) continue
        for (const line of lines) this.#open(line)
      }
  }

  /** The slot that was reserved for the run, if one was: to others nothing changes by that. */
  takeSlot(run: RunEntry): void {
    takeSlotOf(run.lane, run)
    for (const pool of run.pools) takeSlotOf(pool, run)
  }

  /** Gives its slots back; answers whether a run has been waiting for one. */
  freeSlot({ lane, pools }: RunEntry): boolean {
    let isWanted = this.#freeSlotOf(lane)
    for (const pool of pools) isWanted = this.#freeSlotOf(pool) || isWanted
    return isWanted
  }

  #freeSlotOf(lane: Lane): boolean {
    lane.slots -= 1
    return this.#reopen(lane) || lane.reserved !== undefined
  }

  /** A parked run found no slot in one of its pools: it gets one in each of them before any queued run does. */
  reserve(run: RunEntry): void {
    run.lane.reserved = withItem(run.lane.reserved, run)
    for (const pool of run.pools) pool.reserved = withItem(pool.reserved, run)
  }

  /** The run needs its reservation no longer; answers whether another one has been waiting for that. */
  unreserve(run: RunEntry): boolean {
    let isWanted = this.#unreserveOf(run.lane, run)
    for (const pool of run.pools) isWanted = this.#unreserveOf(pool, run) || isWanted
    return isWanted
  }

  #unreserveOf(lane: Lane, run: RunEntry): boolean {
    const before = countOf(lane.reserved)
    if (before === 0) return false
    lane.reserved = withoutItem(lane.reserved, run)
    return countOf(lane.reserved) < before && this.#reopen(lane)
  }

  #lineOf(run: RunEntry): Line {
    const task = this.#taskOf(run.record.taskId)
    if (run.record.slot || run.record.returned) return task.unbound
    for (const line of run.lane.lines) {
      if (line.task === task && isSame(line.pools, run.pools)) return line
    }
    const line = new Line(task, run.lane, run.pools)
    if (run.pools.length > 0) forgetLines(run.lane)
    run.lane.lines.push(line)
    return line
  }

  #taskOf(taskId: string): TaskLines {
    let task = this.#tasks.get(taskId)
    if (task === undefined) this.#tasks.set(taskId, (task = new TaskLines(taskId)))
    return task
  }

  #firstAllowed(task: TaskLines, allowance: Allowance): Line | undefined {
    const { rates, now } = allowance
    for (;;) {
      const line = task.open.first
      if (line?.lane === undefined) return line
      const isStart = line.rank !== RESUMED
      const full = fullOf(line, line.lane, allowance)
      if (full !== undefined) {
        const closed = this.#close(line, full)
        closed.limit = Math.min(closed.limit, mostOf(full, allowance))
        continue
      }
      const { name, id } = line.lane
      const rate = isStart && rates.size > 0 ? rates.get(name) : undefined
      const startAt = rate === undefined ? now : this.starts.nextAt(id, rate, now)
      if (startAt <= now) return line
      line.nextStart = this.#heldBack.add(startAt, line)
      this.#close(line, line.lane).rate = rate
    }
  }

  /** @param lane What it is closed by: its lane or one of its pools. */
  #close(line: Line, lane: Lane): ClosedLines {
    line.closedBy = lane
    this.#arrange(line)
    const ofKind = this.#closed[lane.counts]
    let closed = ofKind.get(lane.name)
    if (closed === undefined) {
      closed = { limit: Infinity, rate: undefined, lines: new Set() }
      ofKind.set(lane.name, closed)
    }
    closed.lines.add(line)
    this.#leaveSlots(line)
    return closed
  }

  #open(line: Line): void {
    const { closedBy } = line
    line.closedBy = undefined
    if (line.nextStart !== undefined) this.#heldBack.cancel(line.nextStart)
    line.nextStart = undefined
    this.#arrange(line)
    if (closedBy === undefined) return
    const ofKind = this.#closed[closedBy.counts]
    const closed = ofKind.get(closedBy.name)
    closed?.lines.delete(line)
    if (closed?.lines.size === 0) ofKind.delete(closedBy.name)
  }

  /** Opens the closed lines of a lane, or the first of each task that a pool has closed; answers whether there were runs in them. */
  #reopen(lane: Lane): boolean {
    let found = false
    for (const line of lane.lines) {
      // A rate is no matter of slots.
      if (line.closedBy !== lane || line.nextStart !== undefined) continue
      this.#open(line)
      found ||= line.runs.first !== undefined
    }
    for (const { first } of lane.closed?.values() ?? []) {
      if (first === undefined) continue
      this.#open(first)
      found = true
    }
    return found
  }

  /** A line can no longer take the slots that its pools may have: the next one of its task that they have closed is to look at them. */
  #leaveSlots(line: Line): void {
    for (const pool of line.pools) {
      if (pool === line.closedBy) continue
      const next = pool.closed?.get(line.task)?.first
      if (next !== undefined) this.#open(next)
    }
  }

  /** Puts a line where its first run belongs, or nowhere. */
  #arrange(line: Line): void {
    const { open } = line.task
    if (line.place !== NOWHERE) line.heap?.remove(line)
    const first = line.runs.first
    const heap = line.isClosed ? closedHeap(line) : open
    if (first !== undefined && heap !== undefined) {
      line.rank = first.rank
      line.at = first.at
      line.order = first.order
      line.heap = heap
      heap.add(line)
    }
    const isBusy = open.first !== undefined
    this.#busy = isBusy ? withItem(this.#busy, line.task) : withoutItem(this.#busy, line.task)
  }
}

const COUNTS = ['queue', 'total', 'perKey'] as const

/** How many runs may hold a slot there. */
function mostOf({ name, counts }: Pick<PoolScope, 'name' | 'counts'>, { queues, limits }: Allowance): number {
  return (counts === 'queue' ? queues.get(name) : limits.get(name)?.[counts]) ?? Infinity
}

/** The lane or the pool that has no slot for the first run of a line. */
function fullOf(line: Line, lane: Lane, allowance: Allowance): Lane | undefined {
  if (isFull(lane, line, allowance)) return lane
  for (const pool of line.pools) if (isFull(pool, line, allowance)) return pool
  return undefined
}

function isFull({ slots, reserved, name, counts }: Lane, { rank }: Line, allowance: Allowance): boolean {
  return slots + (rank === RESUMED ? 0 : countOf(reserved)) >= mostOf({ name, counts }, allowance)
}

/** One more run is in a lane. */
function laneIn(lanes: Map<string, Lane>, { id, name, counts }: PoolScope): Lane {
  let lane = lanes.get(id)
  if (lane === undefined) lanes.set(id, (lane = new Lane(id, name, counts)))
  lane.members += 1
  return lane
}

function leaveLane(lanes: Map<string, Lane>, lane: Lane): void {
  lane.members -= 1
  if (lane.members === 0 && lanes.size > IDLE_LANES) lanes.delete(lane.id)
}

/** The slot that was reserved for the run, if one was: to others nothing changes by that. */
function takeSlotOf(lane: Lane, run: RunEntry): void {
  lane.slots += 1
  if (lane.reserved !== undefined) lane.reserved = withoutItem(lane.reserved, run)
}

/** A pool without runs may be made anew for the next one: lines with the old one have no runs any more. */
function forgetLines({ lines }: Lane): void {
  const kept = lines.filter(({ pools }) => pools.every(({ members }) => members > 0))
  lines.splice(0, lines.length, ...kept)
}

function isSame(one: readonly Lane[], other: readonly Lane[]): boolean {
  return one === other || (one.length === other.length && one.every((pool, at) => pool === other[at]))
}

/** Where a closed line stands: in its pool, for there are many. Those of a lane are few, and found in its list. */
function closedHeap({ closedBy, nextStart, task }: Line): OrderedHeap<Line> | undefined {
  if (closedBy === undefined || closedBy.counts === 'queue' || nextStart !== undefined) return undefined
  closedBy.closed ??= new Map()
  let heap = closedBy.closed.get(task)
  if (heap === undefined) closedBy.closed.set(task, (heap = new OrderedHeap()))
  return heap
}
