import type { Storage } from '../../src/contract/storage.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { openMemory } from '../storage/storage-fixture.ts'

/** How many inserts may claim between two claims. */
const MOST = 1_000_000

/**
 * A storage in memory that claims a new run with its insert, as that of Postgres does: such a claim has a number between those of
 * the claims of the engine. It answers as the storage of the project does.
 */
export function claimingMemory(): Storage {
  const memory = openMemory()
  let claims = 0
  const insert: typeof memory.runs.insert = (request) => {
    const { record, claim, by, now } = request
    const before = memory.runs.list({ status: ['QUEUED'] }, { limit: 1 }).records.length
    const inserted = memory.runs.insert(request)
    if (claim === undefined || before > 0 || inserted === 'stale' || inserted.isCached) return inserted
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
