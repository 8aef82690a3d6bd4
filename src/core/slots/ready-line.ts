import { isBefore, NOWHERE, type Ordered, OrderedHeap } from '../../primitives/ordered-heap.ts'
import type { Attempt } from '../attempt/attempt.ts'

/** A run that can go on, in line for a slot: by the instant at which it could, less its priority, then by arrival. */
export interface ReadyRun extends Ordered {
  readonly attempt: Attempt
  readonly lane: string
}

/** Runs of one queue and concurrency key. Its own place in line is that of its first run. */
interface Lane extends Ordered {
  readonly runs: OrderedHeap<ReadyRun>
  at: number
  order: number
}

/**
 * The line of an engine's runs that can go on. The first of all lanes gets the next slot, unless its lane is closed: the one
 * before it has asked storage for a slot of the queue's limit, or storage had none.
 */
export class ReadyLine {
  readonly #places = new Map<Attempt, ReadyRun>()
  readonly #lanes = new Map<string, Lane>()
  /** Lanes that are not closed and have runs. */
  readonly #open = new OrderedHeap<Lane>()
  /** Lanes with a limit whose first run in line has asked storage for a slot. */
  readonly #asking = new Set<string>()
  /** Lanes whose first run in line was refused a slot, until one of the lane may have been freed. */
  readonly #refused = new Set<string>()
  #arrived = 0

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  get hasRefused(): boolean {
    return this.#refused.size > 0
  }

  /** Runs of this lane have to wait for others of it. */
  isClosed(lane: string): boolean {
    return this.#asking.has(lane) || this.#refused.has(lane)
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
      lane = { runs: new OrderedHeap(), rank: 0, at: 0, order: 0, place: NOWHERE }
      this.#lanes.set(run.lane, lane)
    }
    lane.runs.add(run)
    this.#move(run.lane, lane)
  }

  /** The attempt is over. */
  remove(attempt: Attempt): void {
    const run = this.#places.get(attempt)
    if (run === undefined) return
    this.#places.delete(attempt)
    const lane = this.#lanes.get(run.lane)
    lane?.runs.remove(run)
    this.#changed(run.lane)
  }

  /** Takes the first run out of the line, if one of an open lane is there. */
  take(): ReadyRun | undefined {
    const run = this.#open.first?.runs.first
    if (run !== undefined) this.remove(run.attempt)
    return run
  }

  /** The first run of a lane has asked storage for a slot of it: the others wait for the answer. */
  ask(lane: string): void {
    this.#asking.add(lane)
    this.#changed(lane)
  }

  /** Storage has answered. Refused: there was no slot, and none was freed since. */
  answered(lane: string, isRefused: boolean): void {
    this.#asking.delete(lane)
    if (isRefused) this.#refused.add(lane)
    this.#changed(lane)
  }

  /** A slot of the lane was freed. */
  freed(lane: string): void {
    if (this.#refused.delete(lane)) this.#changed(lane)
  }

  /** A slot of any lane may have been freed. */
  retry(): void {
    const refused = [...this.#refused]
    this.#refused.clear()
    for (const lane of refused) this.#changed(lane)
  }

  /** How many runs go on before this one; `undefined` if it has to wait for a slot of its queue, or is not in line. */
  ahead(attempt: Attempt): number | undefined {
    const run = this.#places.get(attempt)
    if (run === undefined || this.isClosed(run.lane)) return undefined
    let ahead = 0
    for (const other of this.#places.values())
      if (isBefore(other, run) && other.attempt.is('queued') && !this.isClosed(other.lane)) ahead += 1
    return ahead
  }

  #changed(name: string): void {
    const lane = this.#lanes.get(name)
    if (lane !== undefined) this.#move(name, lane)
  }

  /** Puts a lane where its first run stands; a closed or empty one nowhere. */
  #move(name: string, lane: Lane): void {
    const { first } = lane.runs
    const isIn = lane.place !== NOWHERE
    const isOpen = first !== undefined && !this.isClosed(name)
    if (isIn && isOpen && lane.at === first.at && lane.order === first.order) return
    if (isIn) this.#open.remove(lane)
    if (isOpen) {
      lane.at = first.at
      lane.order = first.order
      this.#open.add(lane)
    } else if (first === undefined) this.#lanes.delete(name)
  }
}
