import type { RunChange, RunRecord } from '../contract/records.ts'
import type { RunClaim, RunInsert } from '../contract/storage.ts'
import { deathsOf } from '../contract/suspects.ts'
import { fullRunDraft, isPlainRun, plainRunDraft, type RunDraft } from '../generated/run-record.ts'

/**
 * A copy to change and to put in the place of `record`, no older than `now`.
 *
 * Hot: every step of a run makes one. Naming all fields gives records one of two shapes, and is 5 times as fast as
 * a spread that adds or changes some. Most runs that are under way have few of the fields: theirs is the small one.
 */
export function draftOf(record: RunRecord, now: number): RunDraft {
  return isPlainRun(record) ? plainRunDraft(record, now) : fullRunDraft(record, now)
}

/** A copy with an update in it. An update may give the slot back; only a claim or a resume takes one. */
export function changedDraft(record: RunRecord, change: RunChange, now: number): RunDraft {
  const draft: RunDraft = Object.assign(fullRunDraft(record, now), change)
  draft.slot = record.slot && draft.slot
  if (!draft.slot) draft.slotUntil = undefined
  return draft
}

/**
 * A copy that is final: without owner, without deadlines, and without a slot unless the change keeps it. However the
 * wall clock was set meanwhile, a run ends no earlier than it started.
 */
export function finalDraft(record: RunRecord, change: RunChange, now: number): RunDraft {
  const draft = changedDraft(record, change, now)
  draft.owner = undefined
  draft.wakeAt = undefined
  draft.finishedAt = Math.max(draft.finishedAt ?? now, draft.startedAt ?? draft.createdAt)
  draft.updatedAt = Math.max(draft.updatedAt, draft.finishedAt)
  if (change.slot !== true) {
    draft.slot = false
    draft.slotUntil = undefined
  }
  return draft
}

/**
 * A copy of the last run of a key that an insert with `push` puts off; nothing if it cannot be put off, or is itself what is
 * inserted once more.
 */
export function pushedDraft(last: RunRecord, { record, push, now }: RunInsert): RunDraft | undefined {
  const { status, attempt, wakeAt, createdAt, expiresAt } = last
  if (push === undefined || last.id === record.id) return undefined
  if (status !== 'DELAYED' || attempt > 0 || wakeAt === undefined || wakeAt <= now) return undefined
  if (push.wakeAt > createdAt + (push.withinMs ?? Infinity)) return undefined
  const draft: RunDraft = Object.assign(fullRunDraft(last, now), push.change)
  // An update of what was read before is refused: it would take the push back.
  draft.epoch += 1
  draft.wakeAt = Math.max(wakeAt, push.wakeAt)
  if (expiresAt !== undefined) draft.expiresAt = expiresAt + (draft.wakeAt - wakeAt)
  return draft
}

/** When a key that is freed has expired: at the creation of its holder. The next call may have a clock that is behind. */
export function freedAt({ createdAt }: Pick<RunRecord, 'createdAt'>, now: number): number {
  return Math.min(createdAt, now)
}

/**
 * The final record of an interrupted run that is not executed again; by its epoch the attempt knows that it is over.
 *
 * @param diedAlone Whether its owner had no other run that executed.
 */
export function endInstead(
  record: RunRecord,
  { now, maxInterruptions }: RunClaim,
  diedAlone: () => boolean,
): RunRecord | undefined {
  const epoch = record.epoch + 1
  if (record.returned) return Object.assign(finalDraft(record, { status: 'COMPLETED' }, now), { epoch })
  const interruptions = deathsOf(record)
  if (interruptions <= maxInterruptions || interruptions === record.interruptions || !diedAlone())
    return undefined
  return Object.assign(finalDraft(record, { status: 'CRASHED' }, now), { epoch, interruptions })
}

/** When something happened, and which engine did it; without `by` no engine did it, and all engines are told. */
export interface Act {
  readonly now: number
  readonly by?: string | undefined
}

/** How a token ends. */
export interface TokenEnd {
  readonly status: 'COMPLETED' | 'TIMED_OUT'
  readonly completedAt: number
  readonly outputJson?: string | undefined
  readonly answeredJson?: string
  /** The deadline, if it was made an earlier one. */
  readonly timeoutAt?: number
}
