import type { LeaseRecord, NextDue } from '../../contract/storage.ts'
import { isGone, ownHost, ownProcess } from './host-process.ts'
import type { SqlRow } from './handle.ts'
import type { SqliteSession } from './session.ts'
import type { Act } from '../run-draft.ts'
import { LEASE_COLUMNS, leaseValues } from '../../generated/lease-record.ts'
import { OLDEST_FIRST, resumedLine, shownLease } from '../sql-rows.ts'

interface Renewal {
  readonly owner: string
  readonly leaseUntil: number
  readonly endless: boolean
  readonly now: number
}

/** Runs of owners that are gone at `now` become claimable: their lease has ended, or their process has. */
export function expireSqliteLeases(session: SqliteSession, act: Act): void {
  const { database } = session
  const living = database.all('SELECT owner, until, process FROM owners WHERE lost = 0')
  for (const lease of living) {
    if (!isOver(lease, act.now)) continue
    const owner = lease['owner'] as string
    database.run(
      `UPDATE owners SET lost = 1, until = coalesce(until, ?1),
         executing = (SELECT count(*) FROM runs WHERE runs.owner = ?2 AND status = 'EXECUTING')
       WHERE owner = ?2`,
      act.now,
      owner,
    )
    abandonRuns(session, owner, { ...act, dies: true })
  }
}

function isOver({ until, process }: SqlRow, now: number): boolean {
  if (typeof until === 'number' && until <= now) return true
  return typeof process === 'string' && process !== ownProcess() && isGone(process)
}

/** Begins or prolongs a lease; answers its end, none for one without, and `false` when it was lost. */
export function renewLease(
  session: SqliteSession,
  { owner, leaseUntil, endless, now }: Renewal,
): number | undefined | false {
  const { database, hints } = session
  const lease = database.get('SELECT until, lost FROM owners WHERE owner = ?', owner)
  if (lease?.['lost'] === 1) return false
  const isAlone = database.get('SELECT owner FROM owners WHERE lost = 0 AND owner <> ?', owner) === undefined
  const until = endless && isAlone ? null : leaseUntil
  if (lease === undefined) {
    database.run(
      `INSERT INTO owners (${LEASE_COLUMNS}, process) VALUES (${LEASE_COLUMNS.replaceAll(/\w+/g, '?')}, ?)`,
      ...leaseValues({
        owner,
        until: until ?? undefined,
        isLost: false,
        heardAt: now,
        host: ownHost(),
        pid: process.pid,
      }),
      ownProcess(),
    )
  } else if (lease['until'] !== until)
    database.run('UPDATE owners SET until = ?, heard_at = ? WHERE owner = ?', until, now, owner)
  if (isAlone) return until ?? undefined
  const ended = database.all(
    'UPDATE owners SET until = ?, heard_at = NULL WHERE owner <> ? AND lost = 0 AND until IS NULL RETURNING owner',
    leaseUntil,
    owner,
  )
  for (const other of ended) hints.waits(other['owner'] as string, owner)
  return until ?? undefined
}

export function sqliteLeases({ database }: SqliteSession): readonly LeaseRecord[] {
  return database.all(`SELECT ${LEASE_COLUMNS} FROM owners ORDER BY owner`).map(shownLease)
}

/** The next end of a lease that others than `owner` wait for: it holds runs. */
export function nextLease({ database }: SqliteSession, owner: string): NextDue | undefined {
  const next = database.get(
    `SELECT owner, until FROM owners WHERE lost = 0 AND owner <> ? AND until IS NOT NULL
     AND EXISTS (SELECT 1 FROM runs WHERE runs.owner = owners.owner AND held = 1) ORDER BY until LIMIT 1`,
    owner,
  )
  return next && { at: next['until'] as number, what: `lease ${next['owner']}` }
}

/** A graceful end: nothing counts as interrupted, because the runs name no owner any more. */
export function endSqliteLease(session: SqliteSession, act: Act & { readonly by: string }): void {
  const { database } = session
  if (database.get('DELETE FROM owners WHERE owner = ? RETURNING owner', act.by) === undefined) return
  abandonRuns(session, act.by, { ...act, dies: false })
  database.run(
    'UPDATE runs SET owner = NULL, updated_at = max(updated_at, ?) WHERE owner = ?',
    act.now,
    act.by,
  )
}

/** In one statement, for there may be thousands that sleep. */
function abandonRuns(
  { database, hints }: SqliteSession,
  owner: string,
  act: Act & { readonly dies: boolean },
): void {
  database.run(
    `UPDATE runs SET held = 0, reserved = 0,
       line = CASE WHEN sleep.is_over THEN ${resumedLine('runs', String(act.dies))} END,
       line_at = CASE WHEN sleep.is_over THEN ${OLDEST_FIRST} END,
       look_at = CASE WHEN NOT sleep.is_over THEN sleep.due_at END
     FROM (
       SELECT held.seq AS seq, min(tokens.due_at) AS due_at,
         held.status = 'EXECUTING' OR held.returned = 1 OR coalesce(max(waits.ready), 0) = 1
           OR coalesce(min(tokens.due_at) <= ?, 0) AS is_over
       FROM runs AS held
       LEFT JOIN waits ON waits.run_id = held.id
       LEFT JOIN tokens ON tokens.id = waits.token_id
       WHERE held.owner = ? GROUP BY held.seq
     ) AS sleep WHERE runs.seq = sleep.seq`,
    act.now,
    owner,
  )
  hints.queue(act.by)
}
