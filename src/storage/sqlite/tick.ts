import type { WaitRecord } from '../../contract/records.ts'
import type { NextDue, TickRequest, TickResult, RunUpdated } from '../../contract/storage.ts'
import { expireSqliteLeases, nextLease, renewLease } from './leases.ts'
import { WAIT_COLUMNS, waitOfRow } from '../../generated/wait-record.ts'
import type { SqliteSession } from './session.ts'
import { settleDue } from './token-rows.ts'
import { changedDraft, finalDraft } from '../run-draft.ts'
import { finishRun, moveRun, replaceRun, STORED_RUN, storedRun } from './run-rows.ts'
import { isFinal, startBy } from '../../contract/run-states.ts'
import type { Act } from '../run-draft.ts'

/** `tick`. */
export function tickSqlite(session: SqliteSession, request: TickRequest): TickResult {
  const { owner, leaseUntil, endless = false, now, limit } = request
  const act = { by: owner, now }
  expireSqliteLeases(session, act)
  // A tick finds the changes of other owners only if it knows of them.
  const isStirred = session.hints.takeStirred(owner)
  const until = renewLease(session, { owner, leaseUntil, endless: endless && !isStirred, now })
  if (until === false) return { alive: false, ready: [], settled: [], expired: [], claimable: false }

  const settled = settleDue(session, act, limit)
  const expired = sweepRuns(session, act, limit - settled.length)
  return {
    alive: true,
    ready: readyWaits(session, owner),
    settled,
    expired,
    claimable: session.database.get('SELECT 1 FROM runs WHERE line IS NOT NULL LIMIT 1') !== undefined,
    nextDue: dueNext(session, 1)[0],
    nextLease: nextLease(session, owner),
    leaseUntil: until,
  }
}

function readyWaits({ database }: SqliteSession, owner: string): readonly WaitRecord[] {
  const rows = database.all(
    `SELECT ${WAIT_COLUMNS} FROM waits WHERE owner = ? AND ready = 1
       AND EXISTS (SELECT 1 FROM runs WHERE id = run_id AND held = 1)`,
    owner,
  )
  return rows.map(waitOfRow)
}

/** What is due next, the earliest first. */
export function dueNext({ database }: SqliteSession, limit: number): readonly NextDue[] {
  const rows = [
    ...database.all(
      `SELECT due_at AS at, 'token ' || id AS what FROM tokens WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?`,
      limit,
    ),
    ...database.all(
      `SELECT look_at AS at, 'run ' || id AS what FROM runs WHERE look_at IS NOT NULL ORDER BY look_at LIMIT ?`,
      limit,
    ),
  ]
  const due = rows.map(({ at, what }): NextDue => ({ at: Number(at), what: String(what) }))
  return due.sort((one, other) => one.at - other.at).slice(0, limit)
}

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
