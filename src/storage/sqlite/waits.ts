import type { WaitRecord } from '../../contract/records.ts'
import type { AttemptFence } from '../../contract/storage.ts'
import type { Row } from '../../contract/columns.ts'
import { WAIT_COLUMNS, waitOfRow } from '../../generated/wait-record.ts'
import { OLDEST_FIRST } from '../sql-rows.ts'
import type { SqliteSession } from './session.ts'
import type { Act } from '../run-draft.ts'

const NONE: readonly WaitRecord[] = []

/** Makes the waits for a token that has just been settled ready; answers them. */
export function settleWaits(
  { database, hints }: SqliteSession,
  tokenId: string,
  act: Act,
): readonly WaitRecord[] {
  const rows = database.all(
    `UPDATE waits SET ready = 1 WHERE token_id = ? AND ready = 0 RETURNING ${WAIT_COLUMNS}`,
    tokenId,
  )
  if (rows.length === 0) return NONE
  return rows.map((row) => {
    const wait = waitOfRow(row)
    // A parked run without a living owner can be claimed from now on.
    const woken = database.get(
      `UPDATE runs SET line = 0, line_at = ${OLDEST_FIRST}, look_at = NULL
       WHERE id = ? AND held = 0 AND status = 'WAITING' RETURNING seq`,
      wait.runId,
    )
    if (woken === undefined) hints.waits(wait.owner, act.by)
    // The caller is told as well: nothing else in its answer says that there is a run to claim.
    else hints.queue(undefined)
    return wait
  })
}

/** The ids of the runs that wait for a token which is not settled. */
export function waitersOf({ database }: SqliteSession, tokenId: string, limit: number): readonly string[] {
  const rows = database.all(
    'SELECT run_id FROM waits WHERE token_id = ? AND ready = 0 ORDER BY run_id LIMIT ?',
    tokenId,
    limit,
  )
  return rows.map((row) => row['run_id'] as string)
}

export function dropWaits({ database }: SqliteSession, runId: string): void {
  database.run('DELETE FROM waits WHERE run_id = ?', runId)
}

/** A parked run without a living owner keeps its waits: they wake it. */
export function releaseWait({ database }: SqliteSession, { tokenId, runId, owner }: WaitRecord): void {
  database.run(
    `DELETE FROM waits WHERE run_id = ?1 AND token_id = ?2 AND owner = ?3
     AND NOT EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND status = 'WAITING' AND held = 0)`,
    runId,
    tokenId,
    owner,
  )
}

/** The sleep of a parked run without a living owner: whether one of its waits is settled, and the first deadline. */
export function sleepOf(
  { database }: SqliteSession,
  runId: string,
): { readonly isOver: boolean; readonly dueAt: number | undefined } {
  const row = database.get(
    `SELECT max(waits.ready) AS ready, min(tokens.due_at) AS due_at
     FROM waits LEFT JOIN tokens ON tokens.id = waits.token_id WHERE waits.run_id = ?`,
    runId,
  )
  const dueAt = row?.['due_at']
  return { isOver: row?.['ready'] === 1, dueAt: typeof dueAt === 'number' ? dueAt : undefined }
}

/** Whether the attempt that writes no longer holds its run. */
export function isStaleAttempt(
  { database }: SqliteSession,
  { fence, by }: { readonly fence?: AttemptFence | undefined; readonly by: string },
): boolean {
  if (fence === undefined) return false
  return heldRow(database, { id: fence.runId, epoch: fence.epoch, by }) === undefined
}

function heldRow(
  database: SqliteSession['database'],
  { id, epoch, by }: { readonly id: string; readonly epoch: number; readonly by: string },
): Row | undefined {
  return database.get(
    `SELECT seq FROM runs WHERE id = ? AND epoch = ? AND owner = ? AND status IN ('EXECUTING', 'WAITING')`,
    id,
    epoch,
    by,
  )
}
