import type { KeyRecord, TokenRecord } from '../../contract/records.ts'
import type {
  TokenAwait,
  TokenAwaited,
  TokenChange,
  TokenChanged,
  TokenInsert,
  TokenInserted,
  TokenRead,
  TokenSettle,
  TokenSettled,
  TokenStore,
} from '../../contract/storage.ts'
import { tokenOfRow } from '../../generated/token-record.ts'
import { WAIT_COLUMNS, waitValues } from '../../generated/wait-record.ts'
import { isTaken } from './errors.ts'
import { listSqliteTokens } from './lists.ts'
import { findRun } from './run-rows.ts'
import { type Perform, RefusedCall, type SqliteSession } from './session.ts'
import { requireMadeId } from '../made-id.ts'
import { changeToken, completeInTime, insertTokenRow, settleIfDue } from './token-rows.ts'
import { tokenOfRun, RUN_PREFIX } from '../../contract/run-states.ts'
import { isStaleAttempt, releaseWait, waitersOf } from './waits.ts'
/** Waits of one run are registered by one process only: a count in this one is their order. */
let places = 0

/** The tokens of a SQLite storage. */
export function sqliteTokens(perform: Perform): TokenStore {
  return {
    insert(request) {
      if (request.record.kind === 'MANUAL') requireMadeId('tokens', request.record)
      return perform((session) => insertToken(session, request))
    },
    get: (id, now, extras) =>
      perform((session) => {
        const read = readToken(session, id, now)
        const most = extras?.waiters
        return read && most !== undefined ? { ...read, waiters: waitersOf(session, id, most) } : read
      }),
    list: (filter, page, now) => listSqliteTokens(perform, filter, { ...page, now }),
    await: (request) => perform((session) => awaitToken(session, request)),
    settle: (request) => perform((session) => completeToken(session, request)),
    change: (request) => perform((session) => changeOrRead(session, request)),
    release: (waits) => perform((session) => waits.forEach((wait) => releaseWait(session, wait))),
  }
}

/** Finds the token of an id; for `run:<id>` the one that stands for the end of that run. */
export function findSource(session: SqliteSession, id: string): TokenRecord | undefined {
  if (id.startsWith(RUN_PREFIX)) {
    const run = findRun(session, id.slice(RUN_PREFIX.length))
    return run && tokenOfRun(run.record)
  }
  const row = session.database.get('SELECT * FROM tokens WHERE id = ?', id)
  return row && tokenOfRow(row)
}

function insertToken(session: SqliteSession, request: TokenInsert): TokenInserted | 'stale' {
  if (isStaleAttempt(session, request)) return 'stale'
  const { record, now } = request
  const holder = record.key && keyHolder(session, record.key, now)
  if (holder !== undefined) return { ...readFound(session, holder, now), isCached: true }
  try {
    insertTokenRow(session, record)
    if (record.kind === 'MANUAL') session.hints.token(request.by)
  } catch (cause) {
    if (!isTaken(cause)) throw cause
    throw new RefusedCall(`Cannot insert token "${record.id}": there is one of this id already`, { cause })
  }
  return { record, isCached: false }
}

/** The token that holds a key. */
export function keyHolder(
  { database }: SqliteSession,
  { scope, value }: KeyRecord,
  now: number,
): TokenRecord | undefined {
  const row = database.get(
    'SELECT * FROM tokens WHERE key_scope = ? AND key_value = ? ORDER BY seq DESC LIMIT 1',
    scope,
    value,
  )
  const holder = row && tokenOfRow(row)
  return holder !== undefined && now < (holder.key?.expiresAt ?? Infinity) ? holder : undefined
}

/** Settles a token past its deadline before it is answered. No owner did that, so all owners are told. */
function readToken(session: SqliteSession, id: string, now: number): TokenRead | undefined {
  const token = findSource(session, id)
  return token && readFound(session, token, now)
}

function readFound(session: SqliteSession, token: TokenRecord, now: number): TokenRead {
  const late = settleIfDue(session, token, { now })
  return { record: late?.record ?? token, settledNow: late !== undefined }
}

function awaitToken(session: SqliteSession, request: TokenAwait): TokenAwaited {
  const { tokenId, runId, epoch, by, now } = request
  if (isStaleAttempt(session, { fence: { runId, epoch }, by })) return { outcome: 'stale' }
  const read = readToken(session, tokenId, now)
  if (read === undefined) return { outcome: 'unknown' }
  const { record: token, settledNow } = read
  if (token.status !== 'WAITING') return { outcome: 'settled', token, settledNow }
  places += 1
  session.database.run(
    `INSERT OR IGNORE INTO waits (${WAIT_COLUMNS}, place) VALUES (${WAIT_COLUMNS.replaceAll(/\w+/g, '?')}, ?)`,
    ...waitValues({ runId, tokenId, owner: by }),
    places,
  )
  return { outcome: 'registered', token }
}

function completeToken(session: SqliteSession, request: TokenSettle): TokenSettled | 'stale' | undefined {
  if (isStaleAttempt(session, request)) return 'stale'
  const won = completeInTime(session, request)
  if (won !== undefined) return { ...won, won: true, settledNow: true }
  const row = session.database.get('SELECT * FROM tokens WHERE id = ?', request.id)
  if (row === undefined) return undefined
  const token = tokenOfRow(row)
  const late = settleIfDue(session, token, request)
  const record = late?.record ?? token
  return { record, won: false, settledNow: late !== undefined, ready: late?.ready ?? [] }
}

function changeOrRead(session: SqliteSession, request: TokenChange): TokenChanged | 'stale' | undefined {
  if (isStaleAttempt(session, request)) return 'stale'
  const read = readToken(session, request.id, request.now)
  if (read === undefined || read.record.kind === 'RUN') return undefined
  const changed = changeToken(session, request)
  return { ...read, record: changed ?? read.record, changed: changed !== undefined }
}
