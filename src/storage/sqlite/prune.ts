import { LIVE_STATUSES } from '../../contract/run-states.ts'
import type { PruneRequest } from '../../contract/storage.ts'
import { textsOf } from '../../contract/columns.ts'
import { textList } from '../sql-rows.ts'
import type { SqliteSession } from './session.ts'
import { dropTags } from './tags.ts'

/** A finished run or a settled token that may go. */
interface Ended {
  readonly id: string
  readonly at: number
  readonly isRun: boolean
}

interface Budget {
  left: number
}

/** So many rows of chunks cost what a record costs. */
const CHUNK_ROWS = 10
/** The setting with the number of records above a limit, as of the last count, and that limit: `<keep> <surplus>`. */
const SURPLUS = 'prune-surplus'

/** As in the index `tokens_bound`. */
const IS_RUN_BINDING = `kind = 'BINDING' AND key_scope = run_id`

const IS_LIVE = `status IN (${textList(LIVE_STATUSES)})`

/** `prune`: drops what ended first, until `limit` records are gone or nothing more may go. */
export function pruneSqlite(session: SqliteSession, request: PruneRequest): number {
  const { before, keep, limit, now } = request
  forgetOwners(session, before)
  session.database.run('DELETE FROM queue_starts WHERE over_at <= ?', now)
  const known = readSurplus(session)
  const surplus = keep === undefined ? 0 : surplusOf(session, { keep, limit, known })
  const budget: Budget = { left: limit }
  let dropped = 0
  for (const ended of endedBefore(session, request, surplus > 0)) {
    if (budget.left <= 0 || (ended.at >= before && dropped >= surplus)) break
    if (ended.isRun) {
      dropped += dropRun(session, ended.id, budget)
    } else if (dropToken(session, ended.id)) {
      dropped += 1
      budget.left -= 1
    }
  }
  if (keep !== undefined && surplus > 0) noteSurplus(session, { keep, surplus: surplus - dropped })
  else if (known !== undefined && dropped > 0) {
    noteSurplus(session, { keep: known.keep, surplus: known.surplus - dropped })
  }
  return limit - budget.left
}

interface Surplus {
  readonly keep: number
  /** At least so many records above `keep` are left. */
  readonly surplus: number
}

/**
 * How many records are above the limit. All are counted only when the last count does not say that this batch has enough:
 * a batch takes 10 ms, and so does a count of a million.
 */
function surplusOf(
  session: SqliteSession,
  {
    keep,
    limit,
    known,
  }: { readonly keep: number; readonly limit: number; readonly known: Surplus | undefined },
): number {
  if (known?.keep === keep && known.surplus >= limit) return known.surplus
  return countEnded(session) - keep
}

function readSurplus({ database }: SqliteSession): Surplus | undefined {
  const value = database.value('SELECT value FROM settings WHERE name = ?', SURPLUS)
  if (value === undefined) return undefined
  const [keep = 0, surplus = 0] = String(value).split(' ').map(Number)
  return { keep, surplus }
}

function noteSurplus({ database }: SqliteSession, { keep, surplus }: Surplus): void {
  database.run(
    `INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2`,
    SURPLUS,
    `${keep} ${Math.max(0, surplus)}`,
  )
}

function countEnded({ database }: SqliteSession): number {
  return Number(
    database.value(
      `SELECT (SELECT count(*) FROM runs WHERE ended_at IS NOT NULL)
            + (SELECT count(*) FROM tokens WHERE ended_at IS NOT NULL) AS value`,
    ),
  )
}

/** Ended records that are not needed any more, the earliest end first. */
function endedBefore(
  { database }: SqliteSession,
  request: PruneRequest,
  isAnyAge: boolean,
): readonly Ended[] {
  const { before, limit, now } = request
  const parameters = [isAnyAge ? Number.MAX_SAFE_INTEGER : before, now, limit] as const
  const runs = database.all(
    `SELECT id, ended_at FROM runs AS run WHERE ended_at < ?1
       AND (key_expires_at IS NULL OR key_expires_at <= ?2)
       AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run.root_id AND ${IS_LIVE})
       AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run.key_scope AND run.key_expires_at IS NULL AND ${IS_LIVE})
       AND NOT EXISTS (SELECT 1 FROM waits WHERE token_id = 'run:' || run.id)
       AND NOT EXISTS (SELECT 1 FROM tokens AS bound WHERE output = json_quote(run.id) AND ${IS_RUN_BINDING}
         AND EXISTS (SELECT 1 FROM runs WHERE id = bound.run_id AND ${IS_LIVE}))
     ORDER BY ended_at, seq LIMIT ?3`,
    ...parameters,
  )
  const tokens = database.all(
    `SELECT id, ended_at FROM tokens AS token WHERE ended_at < ?1
       AND (key_expires_at IS NULL OR key_expires_at <= ?2)
       AND NOT EXISTS (SELECT 1 FROM runs AS creator WHERE creator.id = token.run_id
         AND (${IS_LIVE} OR EXISTS (SELECT 1 FROM runs WHERE id = creator.root_id AND ${IS_LIVE})))
       AND NOT (run_id IS NULL AND kind = 'MANUAL' AND status = 'COMPLETED' AND coalesce(timeout_at, 0) > ?2)
       AND NOT EXISTS (SELECT 1 FROM waits WHERE token_id = token.id)
     ORDER BY ended_at, seq LIMIT ?3`,
    ...parameters,
  )
  const ended = [
    ...runs.map((row) => ({ id: row['id'] as string, at: row['ended_at'] as number, isRun: true })),
    ...tokens.map((row) => ({ id: row['id'] as string, at: row['ended_at'] as number, isRun: false })),
  ]
  return ended.sort((one, other) => one.at - other.at)
}

/** The run goes last, after as many of its chunks and of its own tokens as the budget allows. */
function dropRun(session: SqliteSession, id: string, budget: Budget): number {
  const { database } = session
  if (!dropChunks(session, id, budget)) return 0
  const own = database.all(
    `SELECT id, ended_at FROM tokens WHERE run_id = ? AND kind <> 'MANUAL'
       AND NOT EXISTS (SELECT 1 FROM waits WHERE token_id = tokens.id) LIMIT ?`,
    id,
    budget.left,
  )
  let ended = 0
  for (const row of own) {
    if (!dropToken(session, row['id'] as string)) continue
    budget.left -= 1
    if (row['ended_at'] !== null) ended += 1
  }
  if (budget.left <= 0) return ended
  budget.left -= 1
  const row = database.get('DELETE FROM runs WHERE id = ? RETURNING tags', id)
  dropTags(session, 'run_tags', { id, tags: textsOf(row?.['tags']) })
  return ended + 1
}

/** Answers whether all are gone, and the budget is not. */
function dropChunks({ database }: SqliteSession, runId: string, budget: Budget): boolean {
  if (database.get('SELECT 1 FROM streams WHERE run_id = ? LIMIT 1', runId) === undefined) return true
  const most = budget.left * CHUNK_ROWS
  const gone = database.all(
    `DELETE FROM chunks WHERE (run_id, key, first) IN
       (SELECT run_id, key, first FROM chunks WHERE run_id = ? LIMIT ?) RETURNING 1`,
    runId,
    most,
  ).length
  budget.left -= Math.floor(gone / CHUNK_ROWS)
  if (budget.left <= 0) return false
  database.run('DELETE FROM writers WHERE run_id = ?', runId)
  database.run('DELETE FROM streams WHERE run_id = ?', runId)
  return true
}

/** Answers whether it was there. */
function dropToken(session: SqliteSession, id: string): boolean {
  const row = session.database.get('DELETE FROM tokens WHERE id = ? RETURNING tags', id)
  if (row === undefined) return false
  dropTags(session, 'token_tags', { id, tags: textsOf(row['tags']) })
  return true
}

/** Owners that lost their lease long ago and hold nothing any more need not be told. */
function forgetOwners({ database }: SqliteSession, before: number): void {
  database.run(
    `DELETE FROM owners WHERE lost = 1 AND until < ?
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.owner = owners.owner)`,
    before,
  )
}
