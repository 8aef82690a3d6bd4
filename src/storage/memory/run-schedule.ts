import type { NextDue } from '../../contract/storage.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { itemsOf } from '../../primitives/few.ts'
import { isHeld, isSettled, RunEntry } from './entries.ts'
import { QUEUED, RESUMED, type RunLanes } from './run-lanes.ts'
import { placeInLine, startBy } from '../../contract/run-states.ts'
import { isSuspect } from '../../contract/suspects.ts'

/** When each run is next to be looked at, and whether it could be claimed now: both follow from its record alone. */
export class RunSchedule {
  readonly #deadlines = new DeadlineQueue<RunEntry>()
  readonly #lanes: RunLanes

  constructor(lanes: RunLanes) {
    this.#lanes = lanes
  }

  /** Puts a run where its record says; it must be nowhere. */
  place(run: RunEntry, now: number): void {
    const { record } = run
    switch (record.status) {
      case 'QUEUED':
        this.#lanes.enter(run, QUEUED, placeInLine(record))
        this.#lookAt(run, startBy(record))
        return
      case 'DELAYED':
        this.#placeDelayed(run, now)
        return
      case 'EXECUTING':
        if (isHeld(run)) return
        if (isSuspect(record)) this.#lanes.suspects.add(run)
        else this.#lanes.enter(run, RESUMED, placeInLine(record))
        return
      case 'WAITING':
        if (!isHeld(run)) this.#placeOrphan(run, now)
        return
      default:
        if (record.slot) this.#lookAt(run, record.slotUntil)
    }
  }

  /** Takes a run out of all lines and deadlines. */
  remove(run: RunEntry): void {
    this.#lanes.exit(run)
    if (run.deadline === undefined) return
    this.#deadlines.cancel(run.deadline)
    run.deadline = undefined
  }

  /** Places a run again after its waits or its owner have changed. */
  renew(run: RunEntry, now: number): void {
    this.remove(run)
    this.place(run, now)
  }

  /** The next run whose deadline is over; it has none until it is placed again. */
  popDue(now: number): RunEntry | undefined {
    const run = this.#deadlines.popDue(now)?.value
    if (run !== undefined) run.deadline = undefined
    return run
  }

  nextDue(): NextDue | undefined {
    const next = this.#deadlines.peek()
    return next && { at: next.at, what: `run ${next.value.id}` }
  }

  /** The first deadlines, at most `limit`. */
  due(limit: number): readonly NextDue[] {
    return this.#deadlines.first(limit).map(({ at, value }) => ({ at, what: `run ${value.id}` }))
  }

  #placeDelayed(run: RunEntry, now: number): void {
    const wakeAt = run.record.wakeAt ?? run.record.createdAt
    const expiresAt = startBy(run.record)
    if (wakeAt > now) this.#lookAt(run, Math.min(wakeAt, expiresAt ?? Infinity))
    else {
      this.#lanes.enter(run, QUEUED, placeInLine(run.record))
      this.#lookAt(run, expiresAt)
    }
  }

  /** A parked run without an owner sleeps until one of its waits is settled or due. */
  #placeOrphan(run: RunEntry, now: number): void {
    let dueAt = run.record.returned ? -Infinity : Infinity
    for (const { source } of itemsOf(run.waits)) {
      if (isSettled(source)) dueAt = -Infinity
      else if (!(source instanceof RunEntry)) dueAt = Math.min(dueAt, source.record.timeoutAt ?? Infinity)
    }
    if (dueAt <= now) this.#lanes.enter(run, RESUMED, placeInLine(run.record))
    else if (dueAt < Infinity) this.#lookAt(run, dueAt)
  }

  #lookAt(run: RunEntry, at: number | undefined): void {
    if (at !== undefined) run.deadline = this.#deadlines.add(at, run)
  }
}
