import { countOf, type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import { Lane, Line, type RunEntry, TaskLines } from './entries.ts'
import { isBefore, NOWHERE } from '../../primitives/ordered-heap.ts'

/** Runs that go on come before runs that start. */
export const RESUMED = 0
export const QUEUED = 1

/** Lanes without a run that are kept for the next one; beyond that they go, for concurrency keys come without end. */
const IDLE_LANES = 1_000

interface ClosedLines {
  /** The lowest limit at which one of them was found full. */
  limit: number
  readonly lines: Set<Line>
}

/**
 * The runs that could be claimed, and the slots of their lanes.
 *
 * Runs stand in one line per task and lane, lines in one heap per task: a claim looks at the first line of each task
 * that has any. A line whose lane is full is taken out (*closed*) until a slot of that lane is given back or a claim
 * comes with a higher limit, so that no claim walks over runs that cannot start.
 */
export class RunLanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #tasks = new Map<string, TaskLines>()
  /** Tasks with an open line. */
  #busy: Few<TaskLines> = undefined
  readonly #closed = new Map<string, ClosedLines>()
  #arrivals = 0

  /** Whether some run stands in an open line. */
  get hasOpenLine(): boolean {
    return this.#busy !== undefined
  }

  /** Whether a line is closed: its lane was full. */
  get hasClosedLine(): boolean {
    return this.#closed.size > 0
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
    // Only a lane with a key begins with a number, which says where the key begins.
    const id = concurrencyKey === undefined ? `:${queue}` : `${queue.length}:${queue}${concurrencyKey}`
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
    if (line === undefined) return
    run.line = undefined
    line.runs.remove(run)
    if (!line.isClosed) this.#arrange(line)
    else if (line.runs.first === undefined) this.#open(line)
  }

  /** The run to claim next, left where it stands. */
  next(taskIds: readonly string[], queueLimits: ReadonlyMap<string, number>): RunEntry | undefined {
    let best: Line | undefined
    for (const task of itemsOf(this.#busy)) {
      if (!taskIds.includes(task.taskId)) continue
      const line = this.#firstWithSlot(task, queueLimits)
      if (line !== undefined && (best === undefined || isBefore(line, best))) best = line
    }
    return best?.runs.first
  }

  /** Opens the lines that were closed at a lower limit than the one that counts now. */
  applyLimits(queueLimits: ReadonlyMap<string, number>): void {
    for (const [queue, closed] of this.#closed) {
      if ((queueLimits.get(queue) ?? Infinity) <= closed.limit) continue
      for (const line of closed.lines) this.#open(line)
    }
  }

  takeSlot(lane: Lane): void {
    lane.slots += 1
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

  /** The run needs its reservation no longer. */
  unreserve(run: RunEntry): void {
    const { lane } = run
    if (lane.reserved === undefined) return
    lane.reserved = withoutItem(lane.reserved, run)
    this.#reopen(lane)
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

  #firstWithSlot(task: TaskLines, queueLimits: ReadonlyMap<string, number>): Line | undefined {
    for (;;) {
      const line = task.open.first
      if (line?.lane === undefined) return line
      const limit = queueLimits.get(line.lane.queue)
      if (limit === undefined) return line
      const reserved = line.rank === RESUMED ? 0 : countOf(line.lane.reserved)
      if (line.lane.slots + reserved < limit) return line
      this.#close(line, { queue: line.lane.queue, limit })
    }
  }

  #close(line: Line, { queue, limit }: { readonly queue: string; readonly limit: number }): void {
    line.isClosed = true
    this.#arrange(line)
    const closed = this.#closed.get(queue)
    if (closed === undefined) this.#closed.set(queue, { limit, lines: new Set([line]) })
    else {
      closed.limit = Math.min(closed.limit, limit)
      closed.lines.add(line)
    }
  }

  #open(line: Line): void {
    line.isClosed = false
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
      if (!line.isClosed) continue
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
