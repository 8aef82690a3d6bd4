import type { RunRecord } from '../../contract/records.ts'
import type { RunClaim, RunClaimed, RunUpdated } from '../../contract/storage.ts'
import type { Lease, RunEntry } from './entries.ts'
import { expireLeases, type MemoryState } from './state.ts'
import { endInstead, draftOf } from '../run-draft.ts'
import { SuspectClaim } from '../suspect-claim.ts'
import { placeInLine } from '../../contract/run-states.ts'
import { deathsOf } from '../../contract/suspects.ts'

const NOTHING: RunClaimed = { runs: [], ended: [] }

/** `runs.claim`. */
export function claimRuns(state: MemoryState, claim: RunClaim): RunClaimed {
  expireLeases(state, claim)
  const lease = state.leases.live(claim.by)
  if (lease === undefined || claim.number <= lease.claim) return NOTHING

  lease.claim = claim.number
  // A muster.
  if (claim.limit === 0) return { runs: executing(state.runs.heldBy(lease)), ended: [] }
  const { lanes, runs, queues } = state
  const over = runs.sweep(claim, Infinity)
  const started: RunRecord[] = []
  const allowance = queues.allowance(claim)
  lanes.apply(allowance)
  const suspects =
    lanes.suspects.size === 0
      ? undefined
      : takeSuspects(state, lease, { claim, answer: { runs: started, ended: over } })
  while (started.length < claim.limit && claim.isTrial !== true) {
    const run = lanes.next(claim.taskIds, allowance)
    if (run === undefined) break
    const end = endInstead(run.record, claim, () => false)
    if (end !== undefined) over.push(runs.finish(run, end, claim))
    else {
      lanes.countStart(run, allowance)
      started.push(start(state, { run, lease }, claim))
    }
  }
  const { hasFullLine, nextStartAt } = lanes
  if (suspects === undefined)
    return { runs: started, ended: over, isHeldBack: hasFullLine || undefined, nextStartAt }
  const isHeldBack = hasFullLine || suspects.isHeldBack || undefined
  return { runs: started, ended: over, isHeldBack, nextStartAt, isTrialDue: suspects.isTrialDue || undefined }
}

interface Claiming {
  readonly claim: RunClaim
  readonly answer: { readonly runs: RunRecord[]; readonly ended: RunUpdated[] }
}

function takeSuspects(state: MemoryState, lease: Lease, { claim, answer }: Claiming): SuspectClaim {
  const suspects = new SuspectClaim(claim)
  for (const run of inLine(state.lanes.suspects)) {
    if (answer.runs.length >= claim.limit) break
    if (!claim.taskIds.includes(run.record.taskId)) continue
    const end = endInstead(run.record, claim, () => run.holder?.executing === 1)
    if (end !== undefined) answer.ended.push(state.runs.finish(run, end, claim))
    else if (suspects.takes(deathsOf(run.record))) answer.runs.push(start(state, { run, lease }, claim))
  }
  return suspects
}

/** In the order in which a claim looks at them. */
function inLine(suspects: Iterable<RunEntry>): readonly RunEntry[] {
  return [...suspects].sort(
    ({ record: one }, { record: other }) =>
      deathsOf(one) - deathsOf(other) || placeInLine(one) - placeInLine(other),
  )
}

function executing(held: readonly RunEntry[]): readonly RunRecord[] {
  return held.map(({ record }) => record).filter(({ status }) => status === 'EXECUTING')
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
  draft.interruptions = deathsOf(record)
  draft.owner = lease.owner
  draft.epoch += 1
  draft.slot = true
  if (draft.wakeAt !== undefined) draft.wakeAt = undefined
  draft.startedAt ??= Math.max(draft.createdAt, claim.now)
  return runs.replace(run, draft, claim)
}
