import { isSameRate } from '../../contract/queue-rates.ts'
import type { QueueRate } from '../../contract/storage.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { countOf, type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import { Lane, Line, type RunEntry, TaskLines } from './entries.ts'
import { isBefore, NOWHERE } from '../../primitives/ordered-heap.ts'
import { StartBook } from './start-book.ts'

/** Runs that go on come before runs that start. */
export const RESUMED = 0
export const QUEUED = 1

/** Lanes without a run that are kept for the next one; beyond that they go, for concurrency keys come without end. */
const IDLE_LANES = 1_000

/** What a claim may take: the limits and rates of queues that are in force at its instant. */
export interface Allowance {
  readonly limits: ReadonlyMap<string, number>
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
 */
export class RunLanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #tasks = new Map<string, TaskLines>()
  /** Tasks with an open line. */
  #busy: Few<TaskLines> = undefined
  readonly #closed = new Map<string, ClosedLines>()
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

  /** Whether a line is closed because its lane was full. */
  get hasFullLine(): boolean {
    for (const { limit } of this.#closed.values()) if (limit < Infinity) return true
    return false
  }

  /** When a rate lets a run start that it holds back. */
  get nextStartAt(): number | undefined {
    return this.#heldBack.peek()?.at
  }

  /** The runs of a queue that hold a slot, and those that were refused one. */
  countsOf(queue: string): { readonly slots: number; readonly refused: number } {
    let [slots, refused] = [0, 0]
    for (const lane of this.#lanes.values()) {
      if (lane.queue !== queue) continue
      slots += lane.slots
      refused += countOf(lane.reserved)
    }
    return { slots, refused }
  }

  /** Opens the closed lines of a queue: it may have another limit now. */
  openQueue(queue: string): void {
    for (const line of this.#closed.get(queue)?.lines ?? []) this.#open(line)
  }

  /** The lane of a new run. */
  join(queue: string, concurrencyKey: string | undefined): Lane {
    const id = laneId(queue, concurrencyKey)
    let lane = this.#lanes.get(id)
    if (lane === undefined) this.#lanes.set(id, (lane = new Lane(id, queue)))
    lane.members += 1
    return lane
  }

  /** A run is over. */
  quit(lane: Lane): void {
    lane.members -= 1
    if (lane.members === 0 && this.#lanes.size > IDLE_LANES) this.#lanes.delete(lane.id)
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
    else if (!line.isClosed && line.runs.first === run) this.#arrange(line)
  }

  /** The run can no longer be claimed. */
  exit(run: RunEntry): void {
    const line = run.line
    if (this.suspects.size > 0) this.suspects.delete(run)
    if (line === undefined) return
    run.line = undefined
    line.runs.remove(run)
    if (!line.isClosed) this.#arrange(line)
    else if (line.runs.first === undefined) this.#open(line)
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
    const rate = rates.get(lane.queue)
    if (rate !== undefined) this.starts.add(lane.id, rate, now)
  }

  /** Opens the lines that are not to be closed any more: their limit is higher now, their rate another one, or a run may start. */
  apply({ limits, rates, now }: Allowance): void {
    for (let due = this.#heldBack.popDue(now); due !== undefined; due = this.#heldBack.popDue(now))
      this.#open(due.value)
    for (const [queue, { limit, rate, lines }] of this.#closed) {
      const isHigher = (limits.get(queue) ?? Infinity) > limit
      if (!isHigher && (rate === undefined || isSameRate(rate, rates.get(queue)))) continue
      for (const line of lines) this.#open(line)
    }
  }

  /** The slot that was reserved for the run, if one was: to others nothing changes by that. */
  takeSlot(run: RunEntry): void {
    const { lane } = run
    lane.slots += 1
    if (lane.reserved !== undefined) lane.reserved = withoutItem(lane.reserved, run)
  }

  /** Gives a slot back; answers whether a run has been waiting for one. */
  freeSlot(lane: Lane): boolean {
    lane.slots -= 1
    return this.#reopen(lane) || lane.reserved !== undefined
  }

  /** A parked run found no slot: it gets one before any queued run does. */
  reserve(run: RunEntry): void {
    run.lane.reserved = withItem(run.lane.reserved, run)
  }

  /** The run needs its reservation no longer; answers whether another one has been waiting for that. */
  unreserve(run: RunEntry): boolean {
    const { lane } = run
    const before = lane.reserved
    if (before === undefined) return false
    lane.reserved = withoutItem(before, run)
    return countOf(lane.reserved) < countOf(before) && this.#reopen(lane)
  }

  #lineOf(run: RunEntry): Line {
    const task = this.#taskOf(run.record.taskId)
    if (run.record.slot || run.record.returned) return task.unbound
    for (const line of run.lane.lines) {
      if (line.task === task) return line
    }
    const line = new Line(task, run.lane)
    run.lane.lines.push(line)
    return line
  }

  #taskOf(taskId: string): TaskLines {
    let task = this.#tasks.get(taskId)
    if (task === undefined) this.#tasks.set(taskId, (task = new TaskLines(taskId)))
    return task
  }

  #firstAllowed(task: TaskLines, { limits, rates, now }: Allowance): Line | undefined {
    for (;;) {
      const line = task.open.first
      if (line?.lane === undefined) return line
      const { queue, slots, reserved, id } = line.lane
      const limit = limits.get(queue) ?? Infinity
      const isStart = line.rank !== RESUMED
      const rate = isStart && rates.size > 0 ? rates.get(queue) : undefined
      if (slots + (isStart ? countOf(reserved) : 0) >= limit) {
        const closed = this.#close(line, queue)
        closed.limit = Math.min(closed.limit, limit)
        continue
      }
      const startAt = rate === undefined ? now : this.starts.nextAt(id, rate, now)
      if (startAt <= now) return line
      this.#close(line, queue).rate = rate
      line.nextStart = this.#heldBack.add(startAt, line)
    }
  }

  #close(line: Line, queue: string): ClosedLines {
    line.isClosed = true
    this.#arrange(line)
    let closed = this.#closed.get(queue)
    if (closed === undefined) {
      closed = { limit: Infinity, rate: undefined, lines: new Set() }
      this.#closed.set(queue, closed)
    }
    closed.lines.add(line)
    return closed
  }

  #open(line: Line): void {
    line.isClosed = false
    if (line.nextStart !== undefined) this.#heldBack.cancel(line.nextStart)
    line.nextStart = undefined
    this.#arrange(line)
    const queue = line.lane?.queue ?? ''
    const closed = this.#closed.get(queue)
    closed?.lines.delete(line)
    if (closed?.lines.size === 0) this.#closed.delete(queue)
  }

  /** Opens the closed lines of a lane; answers whether there were runs in them. */
  #reopen(lane: Lane): boolean {
    let found = false
    for (const line of lane.lines) {
      // A rate is no matter of slots.
      if (!line.isClosed || line.nextStart !== undefined) continue
      this.#open(line)
      found ||= line.runs.first !== undefined
    }
    return found
  }

  /** Puts a line where its first run belongs, or nowhere. */
  #arrange(line: Line): void {
    const { open } = line.task
    if (line.place !== NOWHERE) open.remove(line)
    const first = line.runs.first
    if (first !== undefined && !line.isClosed) {
      line.rank = first.rank
      line.at = first.at
      line.order = first.order
      open.add(line)
    }
    const isBusy = open.first !== undefined
    this.#busy = isBusy ? withItem(this.#busy, line.task) : withoutItem(this.#busy, line.task)
  }
}

/** The lane of the runs of a queue with this concurrency key. */
export function laneId(queue: string, concurrencyKey: string | undefined): string {
  // Only a lane with a key begins with a number, which says where the key begins.
  return concurrencyKey === undefined ? `:${queue}` : `${queue.length}:${queue}${concurrencyKey}`
}
