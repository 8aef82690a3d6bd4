import type { RunRecord } from '../../contract/records.ts'
import type { RunClaim, RunClaimed } from '../../contract/storage.ts'
import type { Lease, RunEntry } from './entries.ts'
import { expireLeases, type MemoryState } from './state.ts'
import { endInstead, interruptionsOf, draftOf } from '../run-draft.ts'
const NOTHING: RunClaimed = { runs: [], ended: [] }

/** `runs.claim`. */
export function claimRuns(state: MemoryState, claim: RunClaim): RunClaimed {
  expireLeases(state, claim)
  const lease = state.leases.live(claim.by)
  if (lease === undefined || claim.number < lease.claim) return NOTHING
  if (claim.number === lease.claim) return { runs: handedOut(state, lease), ended: [] }

  lease.claim = claim.number
  const { lanes, runs, queues } = state
  const over = runs.sweep(claim, Infinity)
  const started: RunRecord[] = []
  const allowance = queues.allowance(claim)
  lanes.apply(allowance)
  while (started.length < claim.limit) {
    const run = lanes.next(claim.taskIds, allowance)
    if (run === undefined) break
    const end = endInstead(run.record, claim)
    if (end !== undefined) over.push(runs.finish(run, end, claim))
    else {
      lanes.countStart(run, allowance)
      started.push(start(state, { run, lease }, claim))
    }
  }
  lease.claimed = started.map(({ id }) => id)
  const { hasFullLine, nextStartAt } = lanes
  return { runs: started, ended: over, isHeldBack: hasFullLine || undefined, nextStartAt }
}

/** The runs that the last claim of this owner handed out and that still execute for it. */
function handedOut({ runs }: MemoryState, lease: Lease): readonly RunRecord[] {
  const claimed = lease.claimed.map((id) => runs.table.get(id))
  const isHeld = (run: RunEntry): boolean => run.holder === lease && run.record.status === 'EXECUTING'
  return claimed.flatMap((run) => (run !== undefined && isHeld(run) ? [run.record] : []))
}

function start(
  { runs, waits }: MemoryState,
  { run, lease }: { readonly run: RunEntry; readonly lease: Lease },
  claim: RunClaim,
): RunRecord {
  const { record } = run
  const isPlanned = record.status === 'QUEUED' || record.status === 'DELAYED'
  waits.dropAll(run)
  runs.interruptStreams(run, claim)
  runs.hold(run, lease)
  const draft = draftOf(record, claim.now)
  draft.status = 'EXECUTING'
  draft.attempt += 1
  if (isPlanned) {
    draft.policyAttempt += 1
    draft.version = claim.versions?.get(record.taskId)
  }
  draft.interruptions = interruptionsOf(record)
  draft.owner = lease.owner
  draft.epoch += 1
  draft.slot = true
  if (draft.wakeAt !== undefined) draft.wakeAt = undefined
  draft.startedAt ??= Math.max(draft.createdAt, claim.now)
  return runs.replace(run, draft, claim)
}
