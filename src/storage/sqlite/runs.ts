import type { KeyRecord, RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import { boundRunId, boundTo } from '../../contract/run-binding.ts'
import type {
  Inserted,
  KeyFree,
  KeyFreed,
  RunAsked,
  RunFence,
  RunInsert,
  RunResumed,
  RunStore,
  RunUpdate,
  RunUpdated,
} from '../../contract/storage.ts'
import { requireMadeId } from '../made-id.ts'
import { changedDraft, finalDraft, freedAt, pushedDraft } from '../run-draft.ts'
import { orNull } from '../../contract/columns.ts'
import { runOfValues, RUN_COLUMNS } from '../../generated/run-record.ts'
import { tokenOfRow } from '../../generated/token-record.ts'
import { laneOf, OLDEST_FIRST, SUSPECTS } from '../sql-rows.ts'
import { claimSqliteRuns } from './claims.ts'
import { isTaken } from './errors.ts'
import { readMarks, raiseMark } from './marks.ts'
import { queueSettings } from './queues.ts'
import { listSqliteRuns } from './lists.ts'
import {
  findRun,
  finishRun,
  insertRunRow,
  moveRun,
  replaceRun,
  STORED_RUN,
  storedRun,
  type StoredRun,
  interruptStreams,
} from './run-rows.ts'
import { type Perform, RefusedCall, type SqliteSession } from './session.ts'
import { insertTokenRow } from './token-rows.ts'
import { findSource, keyHolder } from './tokens.ts'
import { dropWaits, isStaleAttempt, settleWaits } from './waits.ts'
import { limitInForce } from '../../contract/queue-limits.ts'
import { isAttempted, isFinal, runTokenId } from '../../contract/run-states.ts'
type Resume = RunFence & { readonly queueLimit?: number | undefined }

/** The runs of a SQLite storage. */
export function sqliteRuns(perform: Perform): RunStore {
  return {
    insert(request) {
      requireMadeId('runs', request.record)
      return perform((session) => insertRun(session, request))
    },
    get: (id, among) => perform((session) => findRun(session, id, among)?.record, 'read'),
    list: (filter, page) => listSqliteRuns(perform, filter, page),
    waits: (id) => perform((session) => openWaits(session, id), 'read'),
    asked: (id) => perform((session) => askedBy(session, id), 'read'),
    update: (request) => perform((session) => updateRun(session, request)),
    claim: (request) => perform((session) => claimSqliteRuns(session, request)),
    park: (request) => perform((session) => parkRun(session, request)),
    resume: (request) => perform((session) => resumeRun(session, request)),
    marks: (scopes) => perform(({ database }) => readMarks(database, scopes), 'read'),
    freeKey: (request) => perform((session) => freeKey(session, request)),
  }
}

function insertRun(session: SqliteSession, request: RunInsert): Inserted<RunRecord> | 'stale' {
  if (isStaleAttempt(session, request)) return 'stale'
  const { record, push, mark } = request
  if (mark !== undefined && record.key !== undefined) raiseMark(session.database, record.key.scope, mark)
  const found =
    push === undefined
      ? holderOf(session, request)
      : (boundRun(session, request) ?? pushRun(session, request))
  if (found !== undefined) return { record: found, isCached: true }
  try {
    insertRunRow(session, record, request)
  } catch (cause) {
    if (!isTaken(cause)) throw cause
    throw new RefusedCall(`Cannot insert run "${record.id}": there is one of this id already`, { cause })
  }
  bind(session, request, record.id)
  session.hints.queue(request.by)
  session.hints.created(record.id, request.by)
  return { record, isCached: false }
}

/** The run that holds the key, unless it gives the key up. */
function holderOf(session: SqliteSession, { record, instead, mark, now }: RunInsert): RunRecord | undefined {
  const holder = lastOfKey(session, record.key)?.record
  if (holder === undefined || holder.id === instead) return undefined
  return mark !== undefined || now < (holder.key?.expiresAt ?? Infinity) ? holder : undefined
}

/** The run that was stored last with a key, whether or not the key has expired. */
function lastOfKey(
  { database }: SqliteSession,
  key: Pick<KeyRecord, 'scope' | 'value'> | undefined,
): StoredRun | undefined {
  if (key === undefined) return undefined
  const row = database.values(
    `SELECT ${STORED_RUN} FROM runs WHERE key_scope = ? AND key_value = ? ORDER BY seq DESC LIMIT 1`,
    key.scope,
    key.value,
  )
  return row && storedRun(row)
}

/** Puts off the run that was stored last with the key, if it can be. */
function pushRun(session: SqliteSession, request: RunInsert): RunRecord | undefined {
  const last = lastOfKey(session, request.record.key)
  if (last === undefined) return undefined
  const draft = pushedDraft(last.record, request)
  if (draft === undefined) return undefined
  session.database.run(
    'UPDATE runs SET payload = ?, options = ? WHERE seq = ?',
    orNull(draft.payloadJson),
    orNull(draft.optionsJson),
    last.seq,
  )
  bind(session, request, draft.id)
  return replaceRun(session, last, { record: draft, act: request })
}

/** The run that the place of the insert is bound to. */
function boundRun(session: SqliteSession, { bind: binding, now }: RunInsert): RunRecord | undefined {
  const token = binding && keyHolder(session, binding.key, now)
  return token && findRun(session, boundRunId(token))?.record
}

/** Binds the place of the insert, if it has one, to the run that is answered. */
function bind(session: SqliteSession, { bind: binding }: RunInsert, runId: string): void {
  if (binding !== undefined) insertTokenRow(session, boundTo(binding, runId))
}

function freeKey(session: SqliteSession, request: KeyFree): KeyFreed | 'stale' | undefined {
  if (isStaleAttempt(session, request)) return 'stale'
  const { key, now } = request
  const last = lastOfKey(session, key)
  if (last === undefined) return undefined
  const { seq, record } = last
  const isFreed = now < (record.key?.expiresAt ?? Infinity)
  if (isFreed)
    session.database.run('UPDATE runs SET key_expires_at = ? WHERE seq = ?', freedAt(record, now), seq)
  return { runId: record.id, isFreed }
}

function openWaits(session: SqliteSession, runId: string): readonly TokenRecord[] {
  const rows = session.database.all(
    'SELECT token_id FROM waits WHERE run_id = ? AND ready = 0 ORDER BY place',
    runId,
  )
  const tokens = rows.map((row) => findSource(session, row['token_id'] as string))
  return tokens.filter((token) => token !== undefined)
}

function askedBy({ database }: SqliteSession, id: string): RunAsked {
  const isThere = database.get('SELECT 1 FROM runs WHERE id = ?', id) !== undefined
  if (!isThere) return { tokens: [], runs: [] }
  const own = 'key_scope = ?1 AND key_expires_at IS NULL'
  const tokens = database.all(`SELECT * FROM tokens WHERE ${own} AND run_id = ?1 ORDER BY created_at, id`, id)
  const runs = database.allValues(`SELECT ${RUN_COLUMNS} FROM runs WHERE ${own} ORDER BY created_at, id`, id)
  return { tokens: tokens.map(tokenOfRow), runs: runs.map(runOfValues) }
}

function updateRun(session: SqliteSession, request: RunUpdate): RunUpdated | undefined {
  const { id, expected, change, now } = request
  const finished = finishAtOnce(session, request)
  if (finished !== undefined) return finished
  const run = findRun(session, id)
  if (run === undefined) return undefined
  const { record } = run
  if (!expected.status.includes(record.status)) return undefined
  if (expected.epoch !== undefined && expected.epoch !== record.epoch) return undefined

  if (isFinal(record.status)) return updateFinal(session, run, request)
  if (change.status !== undefined && isFinal(change.status)) {
    return finishRun(session, run, { record: finalDraft(record, change, now), act: request })
  }
  const draft = changedDraft(record, change, now)
  const isOver = !isAttempted(draft.status)
  if (!isOver) {
    // It goes on by a claim, and any engine may make it.
    if (draft.owner === undefined) session.hints.queue(request.by)
    if (!('owner' in change))
      return { record: replaceRun(session, run, { record: draft, act: request }), ready: [] }
  }
  // The attempt is over, and the next one does not need its waits.
  if (isOver) dropWaits(session, id)
  const freed = { ...draft, owner: undefined, slot: false, slotUntil: undefined }
  return { record: replaceRun(session, run, { record: freed, act: request, isHeld: false }), ready: [] }
}

/** A final status stays as it is. */
function updateFinal(session: SqliteSession, run: StoredRun, request: RunUpdate): RunUpdated | undefined {
  const { change, now } = request
  if (change.status !== undefined && change.status !== run.record.status) return undefined
  const record = changedDraft(run.record, change, now)
  return { record: replaceRun(session, run, { record, act: request }), ready: [] }
}

function parkRun(session: SqliteSession, fence: RunFence): RunRecord | undefined {
  const { database, hints } = session
  const { id, epoch, parks, by, now } = fence
  const row = database.values(
    `UPDATE runs SET status = 'WAITING', slot = 0, slot_until = NULL, interruptions = 0, parks = ?1, updated_at = max(updated_at, ?2)
     WHERE id = ?3 AND epoch = ?4 AND owner = ?5 AND coalesce(parks, 0) + 1 = ?1 AND status = 'EXECUTING' RETURNING ${STORED_RUN}`,
    parks,
    now,
    id,
    epoch,
    by,
  )
  if (row === undefined) return runInPark(session, fence, 'WAITING')?.record
  const parked = storedRun(row)
  // Other owners see its owner as gone: a settled wait must wake the run.
  if (!parked.isHeld) moveRun(session, parked, fence)
  hints.queue(by)
  hints.run(id, by)
  return parked.record
}

/** The run of an attempt that is in this state since, or by, the park of the request. */
function runInPark(
  session: SqliteSession,
  { id, epoch, parks, by }: RunFence,
  inState: RunStatus,
): StoredRun | undefined {
  const run = findRun(session, id)
  if (run?.record.status !== inState || run.record.parks !== parks) return undefined
  return run.record.epoch === epoch && run.record.owner === by ? run : undefined
}

function resumeRun(session: SqliteSession, request: Resume): RunResumed {
  const { database, hints } = session
  const { id, epoch, parks, by, now, queueLimit = Infinity } = request
  const set = queueSettings(database)
  if (queueLimit !== Infinity || set.length > 0) {
    const run = runInPark(session, request, 'WAITING')
    if (run === undefined) return resumedBefore(session, request)
    const taken = database.value(
      'SELECT count(*) AS value FROM runs WHERE slot = 1 AND lane = ?',
      laneOf(run.record),
    )
    const settings = set.find(({ name }) => name === run.record.queue)
    const limit = settings === undefined ? queueLimit : limitInForce(settings, queueLimit)
    if (Number(taken) >= (limit ?? Infinity)) {
      if (run.isHeld) database.run('UPDATE runs SET reserved = 1 WHERE seq = ?', run.seq)
      return { outcome: 'full' }
    }
  }
  const row = database.values(
    `UPDATE runs SET status = 'EXECUTING', slot = 1, reserved = 0, updated_at = max(updated_at, ?),
       line = CASE WHEN held = 0 THEN interruptions + 1 - ${SUSPECTS} END,
       line_at = CASE WHEN held = 0 THEN ${OLDEST_FIRST} END, look_at = NULL
     WHERE id = ? AND epoch = ? AND owner = ? AND parks = ? AND status = 'WAITING' RETURNING ${STORED_RUN}`,
    now,
    id,
    epoch,
    by,
    parks,
  )
  if (row === undefined) return resumedBefore(session, request)
  hints.run(id, by)
  return { outcome: 'resumed', record: runOfValues(row) }
}

function resumedBefore(session: SqliteSession, request: Resume): RunResumed {
  const run = runInPark(session, request, 'EXECUTING')
  return run === undefined ? { outcome: 'stale' } : { outcome: 'resumed', record: run.record }
}

/** The ends of nearly all runs change nothing else. */
const USUAL: ReadonlySet<string> = new Set(['status', 'outputJson', 'errorJson', 'finishedAt', 'slot'])

const FINISH = `UPDATE runs SET status = ?1, output = CASE WHEN ?2 THEN ?3 ELSE output END,
    error = CASE WHEN ?4 THEN ?5 ELSE error END, finished_at = ?6, ended_at = ?6, owner = NULL, held = 0, slot = 0,
    slot_until = NULL, reserved = 0, wake_at = NULL, line = NULL, line_at = NULL, look_at = NULL,
    updated_at = max(updated_at, ?7)
  WHERE id = ?8 AND epoch = ?9 AND status IN (SELECT value FROM json_each(?10)) RETURNING ${STORED_RUN}`

/**
 * An update that ends a run as most do, in one statement instead of a read and a write; `undefined` for all others, and
 * when the run is not as expected. Hot: every run ends once.
 */
function finishAtOnce(session: SqliteSession, request: RunUpdate): RunUpdated | undefined {
  const { id, expected, change, now } = request
  const { status, outputJson, errorJson, finishedAt = now } = change
  if (status === undefined || expected.epoch === undefined || !isUsual(request)) return undefined
  const row = session.database.values(
    FINISH,
    status,
    Number('outputJson' in change),
    orNull(outputJson),
    Number('errorJson' in change),
    orNull(errorJson),
    finishedAt,
    now,
    id,
    expected.epoch,
    JSON.stringify(expected.status),
  )
  if (row === undefined) return undefined
  const { record } = storedRun(row)
  dropWaits(session, id)
  if (record.streams.length > 0) interruptStreams(session, id, request)
  session.hints.queue(request.by)
  session.hints.run(id, request.by)
  return { record, ready: settleWaits(session, runTokenId(id), request) }
}

function isUsual({ expected, change }: RunUpdate): boolean {
  if (change.status === undefined || !isFinal(change.status) || change.slot === true) return false
  return !expected.status.some(isFinal) && Object.keys(change).every((field) => USUAL.has(field))
}
