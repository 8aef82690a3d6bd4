import type { RunRecord, RunStatus, SegmentEnd } from '../../contract/records.ts'
import type { RunUpdated } from '../../contract/storage.ts'
import type { EndedEntries } from './ended-entries.ts'
import { EntryTable, tagLists } from './entry-table.ts'
import type { HintBoard } from '../hint-board.ts'
import type { Lease, RunEntry } from './entries.ts'
import { changedDraft, finalDraft } from '../run-draft.ts'
import type { RunLanes } from './run-lanes.ts'
import { type RunSchedule } from './run-schedule.ts'
import type { WaitBook } from './wait-book.ts'
import { isFinal, RUN_STATUSES, startBy } from '../../contract/run-states.ts'
import type { Act } from '../run-draft.ts'

interface RunLedgerParts {
  readonly lanes: RunLanes
  readonly schedule: RunSchedule
  readonly waits: WaitBook
  readonly ended: EndedEntries
  readonly hints: HintBoard
}

const INTERRUPTED: SegmentEnd = { reason: 'interrupted' }

/** All runs. Every change of a run passes `replace`, so that slots, lines and deadlines follow from its record. */
export class RunLedger {
  readonly table: EntryTable<RunEntry> = new EntryTable<RunEntry>('run', {
    strandOf: ({ record }) => record.taskId,
    grouping: {
      groups: RUN_STATUSES.length,
      groupOf: ({ record }) => statusGroup(record.status),
      place: (run, position) => void (run.position = position),
      positionOf: ({ position }) => position,
    },
    listsOf: tagLists,
    familyOf: ({ record: { parentId, rootId } }) => (parentId === undefined ? undefined : rootId),
    keyOf: ({ record }) => record.key,
  })
  readonly #lanes: RunLanes
  readonly #schedule: RunSchedule
  readonly #waits: WaitBook
  readonly #ended: EndedEntries
  readonly #hints: HintBoard

  constructor({ lanes, schedule, waits, ended, hints }: RunLedgerParts) {
    this.#lanes = lanes
    this.#schedule = schedule
    this.#waits = waits
    this.#ended = ended
    this.#hints = hints
  }

  add(record: RunRecord, act: Act): RunEntry {
    const run = this.#lanes.join(record)
    try {
      this.table.add(run)
    } catch (cause) {
      this.#lanes.quit(run)
      throw cause
    }
    if (record.slot) this.#lanes.takeSlot(run)
    this.#schedule.place(run, act.now)
    this.#hints.queue(act.by)
    this.#hints.created(run.id, act.by)
    return run
  }

  /** Puts `record` in the place of the run's record. */
  replace(run: RunEntry, record: RunRecord, act: Act): RunRecord {
    const { status, slot, tags } = run.record
    this.#schedule.remove(run)
    run.record = record
    if (status !== record.status) {
      const groups = { before: statusGroup(status), after: statusGroup(record.status) }
      this.table.regroup(run, run.position, groups)
    }
    if (tags !== record.tags) this.table.relist(run, tags)
    if (slot !== record.slot) this.#moveSlot(run, act)
    if (record.status !== 'WAITING' && this.#lanes.unreserve(run)) this.#hints.queue(act.by)
    if (isFinal(record.status) && !record.slot && (slot || !isFinal(status))) this.#end(run, act.now)
    this.#schedule.place(run, act.now)
    this.#hints.run(run.id, act.by)
    return record
  }

  /** Replaces the record by a final one: the run waits for nothing more, and runs that wait for it go on. */
  finish(run: RunEntry, record: RunRecord, act: Act): RunUpdated {
    this.#waits.dropAll(run)
    this.hold(run, undefined)
    this.interruptStreams(run, act)
    this.replace(run, record, act)
    return { record, ready: this.#waits.settle(run, act) }
  }

  /** Gives a run to the lease that holds it from now on. */
  hold(run: RunEntry, lease: Lease | undefined): void {
    if (run.holder !== undefined) run.holder.runs -= 1
    run.holder = lease
    if (lease !== undefined) lease.runs += 1
  }

  /** The runs of a lease. It ends once, and has millions of them: they are looked for rather than listed. */
  heldBy(lease: Lease): readonly RunEntry[] {
    return lease.runs === 0 ? [] : this.table.filter((run) => run.holder === lease)
  }

  /** The owner of these runs is gone: any engine may claim them, as far as they need to be executed. */
  abandon(runs: Iterable<RunEntry>, act: Act): void {
    for (const run of runs) {
      this.#lanes.unreserve(run)
      this.#schedule.renew(run, act.now)
    }
    this.#hints.queue(act.by)
  }

  /** Looks at the runs whose deadline is over, until `limit` of them have expired; answers those. */
  sweep(act: Act, limit: number): RunUpdated[] {
    const expired: RunUpdated[] = []
    while (expired.length < limit) {
      const run = this.#schedule.popDue(act.now)
      if (run === undefined) break
      const expiresAt = startBy(run.record)
      if (isFinal(run.record.status))
        this.replace(run, changedDraft(run.record, { slot: false }, act.now), act)
      else if (expiresAt !== undefined && expiresAt <= act.now) {
        const change = { status: 'EXPIRED', finishedAt: expiresAt } as const
        expired.push(this.finish(run, finalDraft(run.record, change, act.now), act))
      } else this.#schedule.renew(run, act.now)
    }
    return expired
  }

  /** Ends the open segments: their writer is gone. */
  interruptStreams(run: RunEntry, act: Act): void {
    if (run.streams === undefined) return
    for (const [key, stream] of run.streams) {
      const last = stream.segments.at(-1)
      if (last === undefined || last.end !== undefined) continue
      stream.segments = [...stream.segments.slice(0, -1), { ...last, end: INTERRUPTED }]
      this.#hints.stream(run.id, key, act.by)
    }
  }

  drop(run: RunEntry): void {
    this.table.drop(run)
  }

  #moveSlot(run: RunEntry, act: Act): void {
    if (run.record.slot) this.#lanes.takeSlot(run)
    else if (this.#lanes.freeSlot(run)) this.#hints.queue(act.by)
  }

  /** The run is final and holds nothing any more. */
  #end(run: RunEntry, now: number): void {
    this.#lanes.quit(run)
    this.#ended.add(run, now)
    this.#ended.release(run, now)
  }
}

/** The number of a status, by which the runs of a task are counted. */
export function statusGroup(status: RunStatus): number {
  return RUN_STATUSES.indexOf(status)
}
