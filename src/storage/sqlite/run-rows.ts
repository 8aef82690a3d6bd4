import type { RunRecord, SegmentEnd } from '../../contract/records.ts'
import type { RunsAmong, RunUpdated } from '../../contract/storage.ts'
import { orNull } from '../../contract/columns.ts'
import {
  RUN_COLUMNS,
  RUN_CONTENT,
  RUN_PLACE,
  RUN_PLACING,
  runContentValues,
  runOfValues,
  runPlaceValues,
  runValues,
} from '../../generated/run-record.ts'
import { laneOf, SUSPECTS } from '../sql-rows.ts'
import { endSegment, type StreamRow } from './segments.ts'
import type { SqliteDatabase } from './database.ts'
import type { SqlValue } from './handle.ts'
import type { SqliteSession } from './session.ts'
import { addTags, dropTags } from './tags.ts'
import { listOfTexts } from './texts.ts'
import { dropWaits, settleWaits, sleepOf } from './waits.ts'
import { isFinal, placeInLine, runTokenId, startBy } from '../../contract/run-states.ts'
import { deathsOf, isSuspect } from '../../contract/suspects.ts'
import type { Act } from '../run-draft.ts'

/** A run as it is stored: its record and the fields that a storage keeps beside it. */
export interface StoredRun {
  readonly seq: number
  readonly record: RunRecord
  /** Its owner is alive, as far as engines have noticed. */
  readonly isHeld: boolean
}

/** Where a run stands in line to be claimed, and when it is next to be looked at. */
interface RunPlace {
  readonly line: number | null
  readonly lineAt: number | null
  readonly lookAt: number | null
}

const RESUMED = 0
const QUEUED = 1
const PLACE = `${RUN_PLACE}, held = ?, reserved = reserved AND ?, line = ?, line_at = ?, look_at = ?, ended_at = ?`
/** Not to touch the columns of a place spares all indexes. */
const REWRITE = `UPDATE runs SET ${RUN_CONTENT} WHERE seq = ?`
const REPLACE = `UPDATE runs SET ${RUN_CONTENT}, ${PLACE} WHERE seq = ?`
const MOVE = `UPDATE runs SET ${PLACE} WHERE seq = ?`
const NOWHERE: RunPlace = { line: null, lineAt: null, lookAt: null }
const INSERT = `INSERT INTO runs (${RUN_COLUMNS}, lane, line, line_at, look_at, ended_at)
  VALUES (${RUN_COLUMNS.replaceAll(/\w+/g, '?')}, ?, ?, ?, ?, ?)`
const INTERRUPTED: SegmentEnd = { reason: 'interrupted' }

/** Where a row of `STORED_RUN` has its `seq`; `held` comes after it. */
const SEQ = RUN_COLUMNS.split(',').length

/** The columns of a stored run. */
export const STORED_RUN: string = `${RUN_COLUMNS}, seq, held`

/** The run of a row of `STORED_RUN`. */
export function storedRun(values: readonly SqlValue[]): StoredRun {
  return { seq: values[SEQ] as number, record: runOfValues(values), isHeld: values[SEQ + 1] === 1 }
}

/**
 * The conditions on the task and the tags, whose tables are read before a large column of the run is. The type of the
 * column `tags` is in the head of its row.
 */
const AMONG = `task_id IN (SELECT value FROM json_each(?))
  OR EXISTS (SELECT 1 FROM run_tags WHERE tag IN (SELECT value FROM json_each(?)) AND run = runs.id)`
const AMONG_TAGGED = `task_id IN (SELECT value FROM json_each(?)) OR typeof(tags) = 'text'`

export function findRun({ database }: SqliteSession, id: string, among?: RunsAmong): StoredRun | undefined {
  const row = findValues(database, id, among)
  return row && storedRun(row)
}

function findValues(
  database: SqliteDatabase,
  id: string,
  among: RunsAmong | undefined,
): readonly SqlValue[] | undefined {
  const byId = `SELECT ${STORED_RUN} FROM runs WHERE id = ?`
  if (among === undefined) return database.values(byId, id)
  const taskIds = listOfTexts(among.taskIds)
  if (among.tags === 'any') return database.values(`${byId} AND (${AMONG_TAGGED})`, id, taskIds)
  return database.values(`${byId} AND (${AMONG})`, id, taskIds, listOfTexts(among.tags))
}

export function insertRunRow(session: SqliteSession, record: RunRecord, act: Act): void {
  const { line, lineAt, lookAt } = placeOf(session, { record, isHeld: false }, act.now)
  session.database.run(INSERT, ...runValues(record), laneOf(record), line, lineAt, lookAt, endOf(record))
  addTags(session, 'run_tags', record)
}

/** Puts `record` in the place of the run's record; where it stands in line follows from it. */
export function replaceRun(session: SqliteSession, run: StoredRun, change: RunReplacement): RunRecord {
  const { record, act, isHeld = run.isHeld } = change
  const { database, hints } = session
  const before = run.record
  const isMoved = isHeld !== run.isHeld || RUN_PLACING.some((field) => before[field] !== record[field])
  const place = isMoved ? placeColumns(session, { seq: run.seq, record, isHeld }, act.now) : []
  database.run(isMoved ? REPLACE : REWRITE, ...runContentValues(record), ...place, run.seq)
  if (before.tags !== record.tags) {
    dropTags(session, 'run_tags', before)
    addTags(session, 'run_tags', record)
  }
  // A parked run may have been refused a slot, which is another one's now.
  const isFreed = before.slot ? !record.slot : before.status === 'WAITING' && isFinal(record.status)
  if (isFreed) hints.queue(act.by)
  hints.run(record.id, act.by)
  return record
}

export interface RunReplacement {
  readonly record: RunRecord
  readonly act: Act
  /** As before unless given. */
  readonly isHeld?: boolean
}

/** Replaces the record by a final one: the run waits for nothing more, and runs that wait for it go on. */
export function finishRun(
  session: SqliteSession,
  run: StoredRun,
  { record, act }: RunReplacement,
): RunUpdated {
  dropWaits(session, record.id)
  if (record.streams.length > 0) interruptStreams(session, record.id, act)
  replaceRun(session, run, { record, act, isHeld: false })
  return { record, ready: settleWaits(session, runTokenId(record.id), act) }
}

/** Ends the open segments: their writer is gone. */
export function interruptStreams({ database, hints }: SqliteSession, runId: string, act: Act): void {
  const rows = database.all(
    'SELECT * FROM streams WHERE run_id = ?',
    runId,
  ) as unknown as readonly StreamRow[]
  for (const row of rows) {
    const segments = endSegment(row, INTERRUPTED)
    if (segments === undefined) continue
    database.run('UPDATE streams SET segments = ? WHERE run_id = ? AND key = ?', segments, runId, row.key)
    hints.stream(runId, row.key, act.by)
  }
}

/** Puts a run where its record says. */
export function moveRun(session: SqliteSession, run: StoredRun, act: Act): void {
  session.database.run(MOVE, ...placeColumns(session, run, act.now), run.seq)
}

/** The columns of `PLACE`. */
function placeColumns(session: SqliteSession, run: StoredRun, now: number): readonly SqlValue[] {
  const { record, isHeld } = run
  const { line, lineAt, lookAt } = placeOf(session, run, now)
  return [
    ...runPlaceValues(record),
    Number(isHeld),
    Number(record.status === 'WAITING'),
    line,
    lineAt,
    lookAt,
    endOf(record),
  ]
}

function placeOf(
  session: SqliteSession,
  { record, isHeld }: Pick<StoredRun, 'record' | 'isHeld'>,
  now: number,
): RunPlace {
  switch (record.status) {
    case 'QUEUED':
      return { line: QUEUED, lineAt: placeInLine(record), lookAt: startBy(record) ?? null }
    case 'DELAYED':
      return placeOfDelayed(record, now)
    case 'EXECUTING':
      return isHeld ? NOWHERE : { line: lineOf(record), lineAt: placeInLine(record), lookAt: null }
    case 'WAITING':
      return isHeld ? NOWHERE : placeOfOrphan(session, record, now)
    default:
      return record.slot ? { ...NOWHERE, lookAt: orNull(record.slotUntil) } : NOWHERE
  }
}

function lineOf(record: RunRecord): number {
  return isSuspect(record) ? deathsOf(record) - SUSPECTS : RESUMED
}

function placeOfDelayed(record: RunRecord, now: number): RunPlace {
  const wakeAt = record.wakeAt ?? record.createdAt
  const expiresAt = startBy(record)
  if (wakeAt <= now) return { line: QUEUED, lineAt: placeInLine(record), lookAt: expiresAt ?? null }
  return { ...NOWHERE, lookAt: Math.min(wakeAt, expiresAt ?? Infinity) }
}

/** A parked run without an owner sleeps until one of its waits is settled or due. */
function placeOfOrphan(session: SqliteSession, record: RunRecord, now: number): RunPlace {
  const { isOver, dueAt = Infinity } = sleepOf(session, record.id)
  if (record.returned || isOver || dueAt <= now)
    return { line: RESUMED, lineAt: placeInLine(record), lookAt: null }
  return dueAt === Infinity ? NOWHERE : { ...NOWHERE, lookAt: dueAt }
}

/** When it ended, once it holds nothing any more. */
function endOf({ status, slot, finishedAt }: RunRecord): number | null {
  return isFinal(status) && !slot ? (finishedAt ?? 0) : null
}
