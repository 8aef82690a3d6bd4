import type { Act } from '../run-draft.ts'
import type { WaitRecord } from '../../contract/records.ts'
import { countOf, findItem, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import type { HintBoard } from '../hint-board.ts'
import { isHeld, isSettled, RunEntry, Wait, type WaitSource } from './entries.ts'
import type { RunSchedule } from './run-schedule.ts'
import { RUN_PREFIX } from '../../contract/run-states.ts'

interface WaitBookParts {
  readonly schedule: RunSchedule
  readonly hints: HintBoard
}

const NONE: readonly WaitRecord[] = []

/** Which run waits for what. A wait is known from both sides until it is dropped, ready or not. */
export class WaitBook {
  readonly #schedule: RunSchedule
  readonly #hints: HintBoard

  constructor({ schedule, hints }: WaitBookParts) {
    this.#schedule = schedule
    this.#hints = hints
  }

  /** Registers a wait; a second one of the same run for the same thing is the first. */
  add(run: RunEntry, source: WaitSource): void {
    if (this.find(run, source) !== undefined) return
    const wait = new Wait(run, source)
    run.waits = withItem(run.waits, wait)
    source.waiters = withItem(source.waiters, wait)
  }

  /** Looks from the side that has fewer: one run may wait for thousands, thousands may wait for one token. */
  find(run: RunEntry, source: WaitSource): Wait | undefined {
    return countOf(run.waits) <= countOf(source.waiters)
      ? findItem(run.waits, (wait) => wait.source === source)
      : findItem(source.waiters, (wait) => wait.run === run)
  }

  /** The ids of the runs that wait for `source`, which is not settled, at most `limit`, in order. */
  waiters(source: WaitSource | undefined, limit: number): readonly string[] {
    if (source === undefined || isSettled(source)) return []
    return itemsOf(source.waiters)
      .map(({ run }) => run.id)
      .sort()
      .slice(0, limit)
  }

  drop(wait: Wait): void {
    const { run, source } = wait
    run.waits = withoutItem(run.waits, wait)
    source.waiters = withoutItem(source.waiters, wait)
    const { holder } = run
    if (wait.ready !== undefined && holder !== undefined) holder.ready = withoutItem(holder.ready, wait)
  }

  dropAll(run: RunEntry): void {
    if (run.waits instanceof Wait) this.drop(run.waits)
    else for (const wait of itemsOf(run.waits)) this.drop(wait)
  }

  /** Makes the waits for `source`, which has just been settled, ready; answers them. */
  settle(source: WaitSource, act: Act): readonly WaitRecord[] {
    const { waiters } = source
    if (waiters === undefined) return NONE
    // Hot: nearly all have one, for which no list is made.
    if (waiters instanceof Wait) return [this.#makeReady(waiters, act)]
    return itemsOf(waiters).map((wait) => this.#makeReady(wait, act))
  }

  /** The deadline of `source` is another one: parked runs that no engine holds can be claimed by then. */
  moved(source: WaitSource, now: number): void {
    for (const { run } of itemsOf(source.waiters))
      if (run.record.status === 'WAITING' && !isHeld(run)) this.#schedule.renew(run, now)
  }

  #makeReady(wait: Wait, act: Act): WaitRecord {
    const { run, source, owner } = wait
    const tokenId = source instanceof RunEntry ? RUN_PREFIX + source.id : source.id
    wait.ready = { tokenId, runId: run.id, owner }
    this.#tell(wait, act)
    return wait.ready
  }

  #tell(wait: Wait, act: Act): void {
    const { run, owner } = wait
    const { holder } = run
    if (holder?.isLive === true) {
      holder.ready = withItem(holder.ready, wait)
      this.#hints.waits(owner, act.by)
    } else if (run.record.status === 'WAITING') {
      // One that could be claimed already still can: it may wait for thousands.
      if (run.line === undefined) this.#schedule.renew(run, act.now)
      // The caller is told as well: nothing else in its answer says that there is a run to claim.
      this.#hints.queue(undefined)
    }
  }
}
