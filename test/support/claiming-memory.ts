import type { Storage } from '../../src/contract/storage.ts'
import type { RunRecord } from '../../src/contract/records.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { openMemory } from '../storage/storage-fixture.ts'

const NOT_OVER = ['QUEUED', 'DELAYED', 'EXECUTING', 'WAITING'] as const
/** How many inserts may claim between two claims. */
const MOST = 1_000_000

/**
 * A storage in memory that claims a new run with its insert, as that of Postgres does: such a claim has a number between those of
 * the claims of the engine. No other run may be there to be claimed, which would be claimed instead, and beyond the limit of its queue.
 * It answers as the storage of the project does.
 */
export function claimingMemory(): Storage {
  const memory = openMemory()
  let claims = 0
  const mayBeClaimed = ({ status, owner, wakeAt = 0 }: RunRecord, now: number): boolean => {
    if (status === 'QUEUED' || status === 'DELAYED') return wakeAt <= now
    return !(memory.leases?.() ?? []).some(
      (lease) => lease.owner === owner && now < (lease.until ?? Infinity),
    )
  }
  const insert: typeof memory.runs.insert = (request) => {
    const { record, claim, by, now } = request
    const inserted = memory.runs.insert(request)
    if (claim === undefined || inserted === 'stale' || inserted.isCached) return inserted
    const { records } = memory.runs.list({ status: NOT_OVER, taskIds: claim.taskIds }, { limit: Infinity })
    if (records.some((other) => other.id !== record.id && mayBeClaimed(other, now))) return inserted
    const { runs } = memory.runs.claim({
      by,
      now,
      number: claim.number + (claims += 1) / MOST,
      taskIds: claim.taskIds,
      versions: new Map([[record.taskId, claim.version ?? '']]),
      limit: 1,
      queueLimits: new Map(),
      maxInterruptions: 10,
    })
    const [run] = runs
    return run === undefined ? inserted : { record: run, isCached: false, isClaimed: true }
  }
  const storage = { ...memory, claimsNew: true, runs: { ...memory.runs, insert } }
  return process.env['WAITPOINT_STORAGE'] === 'memory-async' ? alwaysAsync(storage) : storage
}
