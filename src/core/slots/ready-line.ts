import { isOfSeveral, poolsOfLane } from '../../contract/pools.ts'
import { isBefore, NOWHERE, type Ordered, OrderedHeap } from '../../primitives/ordered-heap.ts'
import type { Attempt } from '../attempt/attempt.ts'

/** A run that can go on, in line for a slot: by the instant at which it could, less its priority, then by arrival. */
export interface ReadyRun extends Ordered {
  readonly attempt: Attempt
  readonly lane: string
}

/** Runs that need slots of the same pools. Its own place in line is that of its first run. */
interface Lane extends Ordered {
  readonly id: string
  readonly pools: readonly string[]
  readonly runs: OrderedHeap<ReadyRun>
  at: number
  order: number
  /** Where it stands, if its `place` is in one. */
  heap: OrderedHeap<Lane> | undefined
  /** The pool whose line it stands in. */
  behind: Pool | undefined
}

/** A pool in which storage had no slot for a run. */
interface Pool {
  readonly id: string
  /** No slot was freed since. */
  isFull: boolean
  /** Lanes that wait for a slot of it. */
  readonly lanes: OrderedHeap<Lane>
}

/**
 * The line of an engine's runs that can go on. The first of all lanes gets the next slot, unless its lane is closed: the one
 * before it has asked storage for slots, or storage had none in one of its pools.
 *
 * A lane whose pool is full stands in a line of this pool. When a slot may be free there, its first lane asks, and the next one after the
 * answer, until storage refuses one for want of a slot there: thousands of lanes may wait for one slot.
 */
export class ReadyLine {
  readonly #places = new Map<Attempt, ReadyRun>()
  readonly #lanes = new Map<string, Lane>()
  /** Lanes that have runs, and are neither asking nor in the line of a pool. */
  readonly #open = new OrderedHeap<Lane>()
  /** Lanes with a limit whose first run in line has asked storage for a slot. */
  readonly #asking = new Set<string>()
  readonly #pools = new Map<string, Pool>()
  /** The lanes that try a pool which may have a slot again. */
  readonly #trying = new Map<string, Pool>()
  #arrived = 0

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  get hasRefused(): boolean {
    return this.#pools.size > 0
  }

  /** Whether a run with several limits asks again: it is to have its slots before new runs. */
  get isTrying(): boolean {
    if (this.#trying.size > 0) for (const id of this.#trying.keys()) if (isOfSeveral(id)) return true
    return false
  }

  /** Runs of this lane have to wait for others of it. */
  isClosed(lane: string): boolean {
    return this.#asking.has(lane) || this.#fullOf(lane) !== undefined
  }

  /** The attempt stands in line from now on, behind those that could go on before. In another lane it keeps its place. */
  add(attempt: Attempt, lane: string, now: number): void {
    const before = this.#places.get(attempt)
    if (before !== undefined) this.remove(attempt)
    this.putBack({
      attempt,
      lane,
      rank: 0,
      at: before?.at ?? now - (attempt.record.priorityMs ?? 0),
      order: before?.order ?? this.#arrived++,
      place: NOWHERE,
    })
  }

  /** A run that was taken gets its place back. */
  putBack(run: ReadyRun): void {
    this.#places.set(run.attempt, run)
    let lane = this.#lanes.get(run.lane)
    if (lane === undefined) {
      const place = { rank: 0, at: 0, order: 0, place: NOWHERE, heap: undefined, behind: undefined }
      lane = { id: run.lane, pools: poolsOfLane(run.lane), runs: new OrderedHeap(), ...place }
      this.#lanes.set(run.lane, lane)
    }
    lane.runs.add(run)
    this.#move(lane)
  }

  /** The attempt is over. */
  remove(attempt: Attempt): void {
    const run = this.#places.get(attempt)
    if (run === undefined) return
    this.#leave(run)
    if (!this.#lanes.has(run.lane) && !this.#asking.has(run.lane)) this.#endTry(run.lane)
  }

  /** Takes the first run out of the line, if one of an open lane is there. It asks storage, which `answered` tells, or needs no slot. */
  take(): ReadyRun | undefined {
    for (let lane = this.#open.first; lane !== undefined; lane = this.#open.first) {
      lane.behind = this.#fullOf(lane.id)
      if (lane.behind === undefined) {
        const run = lane.runs.first
        if (run !== undefined) this.#leave(run)
        return run
      }
      this.#move(lane)
      this.#endTry(lane.id)
    }
    return undefined
  }

  /** The first run of a lane has asked storage for a slot of it: the others wait for the answer. */
  ask(id: string): void {
    this.#asking.add(id)
    const lane = this.#lanes.get(id)
    if (lane === undefined) return
    lane.behind = undefined
    this.#move(lane)
  }

  /** Storage has answered. `full`: the pool in which there was no slot, and none was freed since. */
  answered(lane: string, full?: string): void {
    this.#asking.delete(lane)
    if (full !== undefined) {
      const pool = this.#pools.get(full)
      if (pool === undefined) this.#pools.set(full, { id: full, isFull: true, lanes: new OrderedHeap() })
      else pool.isFull = true
    }
    this.#changed(lane)
    this.#endTry(lane)
  }

  /** A slot of each of these pools was freed. */
  freed(pools: Iterable<string>): void {
    for (const id of pools) {
      const pool = this.#pools.get(id)
      if (pool !== undefined) this.#tryNext(pool)
    }
  }

  /** A slot of any pool may have been freed. */
  retry(): void {
    this.freed([...this.#pools.keys()])
  }

  /** How many runs go on before this one; `undefined` if it has to wait for a slot of a limit, or is not in line. */
  ahead(attempt: Attempt): number | undefined {
    const run = this.#places.get(attempt)
    if (run === undefined || this.isClosed(run.lane)) return undefined
    let ahead = 0
    for (const other of this.#places.values())
      if (isBefore(other, run) && other.attempt.is('queued') && !this.isClosed(other.lane)) ahead += 1
    return ahead
  }

  /** The pool that keeps the runs of a lane from going on. */
  fullPool(attempt: Attempt): string | undefined {
    const lane = this.#places.get(attempt)?.lane
    return lane === undefined ? undefined : this.#fullOf(lane)?.id
  }

  #fullOf(lane: string): Pool | undefined {
    if (this.#pools.size === 0) return undefined
    for (const id of this.#lanes.get(lane)?.pools ?? poolsOfLane(lane)) {
      const pool = this.#pools.get(id)
      if (pool?.isFull === true) return pool
    }
    return undefined
  }

  /** The first lane in the line of a pool asks again. */
  #tryNext(pool: Pool): void {
    pool.isFull = false
    const lane = pool.lanes.first
    if (lane !== undefined) {
      lane.behind = undefined
      this.#trying.set(lane.id, pool)
      this.#move(lane)
    }
    const isOver = pool.lanes.first === undefined && this.#pools.get(pool.id) === pool
    if (isOver) this.#pools.delete(pool.id)
  }

  /** A lane that has tried a pool has an answer, or no longer asks: unless the pool has turned out to be full, it is the turn of the next lane. */
  #endTry(lane: string): void {
    const pool = this.#trying.get(lane)
    if (pool === undefined) return
    this.#trying.delete(lane)
    if (!pool.isFull) this.#tryNext(pool)
  }

  #leave(run: ReadyRun): void {
    this.#places.delete(run.attempt)
    this.#lanes.get(run.lane)?.runs.remove(run)
    this.#changed(run.lane)
  }

  #changed(id: string): void {
    const lane = this.#lanes.get(id)
    if (lane !== undefined) this.#move(lane)
  }

  /** Puts a lane where its first run stands; one that asks or is empty nowhere. */
  #move(lane: Lane): void {
    const { first } = lane.runs
    const heap =
      first === undefined || this.#asking.has(lane.id) ? undefined : (lane.behind?.lanes ?? this.#open)
    const isIn = lane.place !== NOWHERE
    if (isIn && lane.heap === heap && lane.at === first?.at && lane.order === first.order) return
    if (isIn) lane.heap?.remove(lane)
    lane.heap = heap
    if (first === undefined) this.#lanes.delete(lane.id)
    else if (heap !== undefined) {
      lane.at = first.at
      lane.order = first.order
      heap.add(lane)
    }
  }
}
