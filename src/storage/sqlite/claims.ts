import type { RunRecord } from '../../contract/records.ts'
import type { RunClaim, RunClaimed, RunUpdated } from '../../contract/storage.ts'
import { endInstead } from '../run-draft.ts'
import { orNull } from '../../contract/columns.ts'
import { runOfValues } from '../../generated/run-record.ts'
import { type Candidate, ClaimLine } from './claim-line.ts'
import { expireSqliteLeases } from './leases.ts'
import { findRun, finishRun, interruptStreams, STORED_RUN, type StoredRun, storedRun } from './run-rows.ts'
import type { SqliteSession } from './session.ts'
import { SUSPECTS } from '../sql-rows.ts'
import { SuspectClaim } from '../suspect-claim.ts'
import { sweepRuns } from './tick.ts'
import { dropWaits } from './waits.ts'

const NOTHING: RunClaimed = { runs: [], ended: [] }

/** `runs.claim`. */
export function claimSqliteRuns(session: SqliteSession, claim: RunClaim): RunClaimed {
  expireSqliteLeases(session, claim)
  const { database } = session
  const lease = database.get('SELECT claim FROM owners WHERE owner = ? AND lost = 0', claim.by)
  if (lease === undefined || claim.number <= Number(lease['claim'])) return NOTHING

  database.run('UPDATE owners SET claim = ? WHERE owner = ?', claim.number, claim.by)
  if (claim.limit === 0) return { runs: executing(session, claim), ended: [] }
  const over: RunUpdated[] = sweepRuns(session, claim, Infinity)
  const runs: RunRecord[] = []
  const line = new ClaimLine(session, claim)
  const suspects = new SuspectClaim(claim)
  take(session, { claim, line, suspects }, { runs, over })
  line.storeStarts()
  const isHeldBack = line.isHeldBack || suspects.isHeldBack || undefined
  const isTrialDue = suspects.isTrialDue || undefined
  return { runs, ended: over, isHeldBack, nextStartAt: line.nextStartAt, isTrialDue }
}

interface Taking {
  readonly claim: RunClaim
  readonly line: ClaimLine
  readonly suspects: SuspectClaim
}

function take(
  session: SqliteSession,
  { claim, line, suspects }: Taking,
  { runs, over }: { readonly runs: RunRecord[]; readonly over: RunUpdated[] },
): void {
  while (runs.length < claim.limit) {
    const next = line.next(claim.limit - runs.length)
    if (next === undefined) break
    if (next.isPlanned) {
      const version = claim.versions?.get(next.taskId)
      runs.push(startRun(session, { ...next, version }, claim))
    } else {
      const run = findRun(session, next.id)
      const end = run && endInstead(run.record, claim, () => diedAlone(session, run.record))
      if (run !== undefined && end !== undefined) {
        over.push(finishRun(session, run, { record: end, act: claim }))
        line.begin()
      } else if (next.line < 0 && !suspects.takes(next.line + SUSPECTS)) line.passSuspects()
      else runs.push(goOn(session, { id: next.id, run }, claim))
    }
  }
}

/** Whether the last owner of a run had no other that executed when it was lost. */
function diedAlone({ database }: SqliteSession, { owner }: RunRecord): boolean {
  return database.value('SELECT executing AS value FROM owners WHERE owner = ?', orNull(owner)) === 1
}

/** The answer to a muster. */
function executing({ database }: SqliteSession, { by }: RunClaim): readonly RunRecord[] {
  const rows = database.allValues(
    `SELECT ${STORED_RUN} FROM runs WHERE owner = ? AND held = 1 AND status = 'EXECUTING' ORDER BY seq`,
    by,
  )
  return rows.map(runOfValues)
}

/** A run that was interrupted, or was parked and has something to go on with. */
function goOn(
  session: SqliteSession,
  { id, run }: { readonly id: string; readonly run: StoredRun | undefined },
  claim: RunClaim,
): RunRecord {
  dropWaits(session, id)
  if (run !== undefined && run.record.streams.length > 0) interruptStreams(session, id, claim)
  return startRun(session, { id, isPlanned: false }, claim)
}

function startRun(
  { database, hints }: SqliteSession,
  { id, isPlanned, version }: Pick<Candidate, 'id' | 'isPlanned'> & { readonly version?: string | undefined },
  claim: RunClaim,
): RunRecord {
  const row = database.values(
    `UPDATE runs SET interruptions = interruptions + (status = 'EXECUTING' AND owner IS NOT NULL),
       status = 'EXECUTING', attempt = attempt + 1, policy_attempt = policy_attempt + ?1, owner = ?2, held = 1,
       reserved = 0, epoch = epoch + 1, slot = 1, wake_at = NULL, started_at = coalesce(started_at, ?3),
       updated_at = max(updated_at, ?3), line = NULL, line_at = NULL, look_at = NULL,
       version = CASE WHEN ?1 THEN ?5 ELSE version END
     WHERE id = ?4 RETURNING ${STORED_RUN}`,
    Number(isPlanned),
    claim.by,
    claim.now,
    id,
    orNull(version),
  )
  if (row === undefined) throw new Error(`Cannot claim run "${id}": it is not there`)
  const { record } = storedRun(row)
  // A run that is put off keeps the segments of its last attempt, and that one may have left one open.
  if (record.streams.length > 0 && isPlanned) interruptStreams({ database, hints }, id, claim)
  hints.run(id, claim.by)
  return record
}
