import type { RunUpdated } from '../contract/storage.ts'
import { changedDraft, finalDraft } from './run-draft.ts'
import { finishRun, moveRun, replaceRun, STORED_RUN, storedRun } from './sqlite/run-rows.ts'
import type { SqliteSession } from './sqlite/session.ts'
import type { Act } from './memory/wait-book.ts'
import { isFinal, startBy } from '../contract/run-states.ts'

/** Looks at the runs whose deadline is over, until `limit` of them have expired; answers those. */
export function sweepRuns(session: SqliteSession, act: Act, limit: number): RunUpdated[] {
  const expired: RunUpdated[] = []
  while (expired.length < limit) {
    const row = session.database.values(
      `SELECT ${STORED_RUN} FROM runs WHERE look_at <= ? ORDER BY look_at, seq LIMIT 1`,
      act.now,
    )
    if (row === undefined) break
    const run = storedRun(row)
    const { record } = run
    const expiresAt = startBy(record)
    if (isFinal(record.status)) {
      replaceRun(session, run, { record: changedDraft(record, { slot: false }, act.now), act })
    } else if (expiresAt !== undefined && expiresAt <= act.now) {
      const change = { status: 'EXPIRED', finishedAt: expiresAt } as const
      expired.push(finishRun(session, run, { record: finalDraft(record, change, act.now), act }))
    } else moveRun(session, run, act)
  }
  return expired
}
