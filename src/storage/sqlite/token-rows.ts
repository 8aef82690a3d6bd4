import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { TokenChange, TokenSettle } from '../../contract/storage.ts'
import { orNull } from '../../contract/columns.ts'
import { TOKEN_COLUMNS, tokenOfRow, tokenValues } from '../../generated/token-record.ts'
import type { SqliteSession } from './session.ts'
import { findRun, moveRun } from './run-rows.ts'
import { addTags } from './tags.ts'
import { settleWaits } from './waits.ts'
import type { Act, TokenEnd } from '../run-draft.ts'

/** A token that was settled, and the waits that became ready. */
export interface SettledToken {
  readonly record: TokenRecord
  readonly ready: readonly WaitRecord[]
}

const INSERT = `INSERT INTO tokens (${TOKEN_COLUMNS}, due_at, ended_at)
  VALUES (${TOKEN_COLUMNS.replaceAll(/\w+/g, '?')}, ?, ?)`

export function insertTokenRow(session: SqliteSession, record: TokenRecord): void {
  const isWaiting = record.status === 'WAITING'
  session.database.run(
    INSERT,
    ...tokenValues(record),
    isWaiting ? orNull(record.timeoutAt) : null,
    isWaiting ? null : (record.completedAt ?? 0),
  )
  addTags(session, 'token_tags', record)
}

/** Beside the id of a token: it is not settled, and asks this. */
const IS_ASKING = `status = 'WAITING' AND question IS ?4`
const COMPLETED = completing(`status = 'COMPLETED', output = ?1`)
const TIMED_OUT = completing(`status = 'TIMED_OUT', output = ?1, timeout_at = ?2`)

function completing(columns: string): string {
  return `UPDATE tokens SET ${columns}, answered = ?5, completed_at = ?2, due_at = NULL, ended_at = ?2
     WHERE id = ?3 AND ${IS_ASKING} AND (timeout_at IS NULL OR timeout_at > ?2) RETURNING *`
}

/** Completes a token that is `WAITING` and not past its deadline, in one statement; or makes it time out now. */
export function completeInTime(session: SqliteSession, request: TokenSettle): SettledToken | undefined {
  const { id, outputJson, question, answeredJson, isTimeOut, now } = request
  const answer = [orNull(outputJson), now, id, orNull(question), orNull(answeredJson)]
  const row = session.database.get(isTimeOut ? TIMED_OUT : COMPLETED, ...answer)
  return row && settled(session, tokenOfRow(row), request)
}

const CHANGE = `UPDATE tokens SET question = coalesce(?1, question), timeout_at = coalesce(?2, timeout_at),
     due_at = coalesce(?2, due_at) WHERE id = ?3 AND ${IS_ASKING} RETURNING *`

/** Gives a token that is `WAITING` and not past its deadline another question or deadline. */
export function changeToken(session: SqliteSession, request: TokenChange): TokenRecord | undefined {
  const { id, question, questionJson, timeoutAt, by, now } = request
  const row = session.database.get(CHANGE, orNull(questionJson), orNull(timeoutAt), id, orNull(question))
  if (row === undefined) return undefined
  const record = tokenOfRow(row)
  if (record.kind === 'MANUAL') session.hints.token(by)
  // Something may be due sooner than they know, and the engine that has moved it may leave.
  if (timeoutAt !== undefined) session.hints.all(by)
  // A parked run without a living owner sleeps until the first of its deadlines.
  const orphans = session.database.all(
    `SELECT id FROM runs WHERE held = 0 AND status = 'WAITING' AND id IN (SELECT run_id FROM waits WHERE token_id = ?)`,
    id,
  )
  for (const orphan of orphans) {
    const run = findRun(session, orphan['id'] as string)
    if (run !== undefined) moveRun(session, run, { now })
  }
  return record
}

/** Settles a token that is `WAITING`. */
function settleToken(
  session: SqliteSession,
  token: TokenRecord,
  { end, act }: { readonly end: TokenEnd; readonly act: Act },
): SettledToken {
  session.database.run(
    'UPDATE tokens SET status = ?1, output = ?2, completed_at = ?3, due_at = NULL, ended_at = ?3 WHERE id = ?4',
    end.status,
    end.outputJson ?? null,
    end.completedAt,
    token.id,
  )
  const record = { ...token, status: end.status, outputJson: end.outputJson, completedAt: end.completedAt }
  return settled(session, record, act)
}

function settled(session: SqliteSession, record: TokenRecord, act: Act): SettledToken {
  if (record.kind === 'MANUAL') session.hints.token(act.by)
  return { record, ready: settleWaits(session, record.id, act) }
}

/** Settles a token that is past its deadline and was not settled yet. */
export function settleIfDue(session: SqliteSession, token: TokenRecord, act: Act): SettledToken | undefined {
  const { status, timeoutAt, kind } = token
  if (status !== 'WAITING' || timeoutAt === undefined || act.now < timeoutAt) return undefined
  const outcome = kind === 'SLEEP' ? 'COMPLETED' : 'TIMED_OUT'
  return settleToken(session, token, { end: { status: outcome, completedAt: timeoutAt }, act })
}

/** Settles up to `limit` tokens that are past their deadlines, the earliest first. */
export function settleDue(session: SqliteSession, act: Act, limit: number): readonly TokenRecord[] {
  const rows = session.database.all(
    'SELECT * FROM tokens WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?',
    act.now,
    limit,
  )
  return rows.flatMap((row) => settleIfDue(session, tokenOfRow(row), act)?.record ?? [])
}
