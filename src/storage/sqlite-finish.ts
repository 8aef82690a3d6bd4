import type { RunUpdate, RunUpdated } from '../contract/storage.ts'
import { isFinal, runTokenId } from '../contract/run-states.ts'
import { orNull } from './sql-rows.ts'
import { interruptStreams, STORED_RUN, storedRun } from './sqlite/run-rows.ts'
import type { SqliteSession } from './sqlite/session.ts'
import { dropWaits, settleWaits } from './sqlite/waits.ts'

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
export function finishAtOnce(session: SqliteSession, request: RunUpdate): RunUpdated | undefined {
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
  session.news.queue(request.by)
  session.news.run(id, request.by)
  return { record, ready: settleWaits(session, runTokenId(id), request) }
}

function isUsual({ expected, change }: RunUpdate): boolean {
  if (change.status === undefined || !isFinal(change.status) || change.slot === true) return false
  return !expected.status.some(isFinal) && Object.keys(change).every((field) => USUAL.has(field))
}
