import type { Storage } from '../../src/contract/storage.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { openMemory } from '../storage/storage-fixture.ts'

/**
 * A storage in memory that resumes a run with the token that it waits for, as that of Postgres does. It answers as the storage of
 * the project does.
 */
export function resumingMemory(): Storage {
  const memory = openMemory()
  const settle: typeof memory.tokens.settle = (request) => {
    const settled = memory.tokens.settle(request)
    const { resume, by, now } = request
    if (resume === undefined || settled === undefined || settled === 'stale' || !settled.won) return settled
    if (!settled.ready.some(({ runId }) => runId === resume.runId)) return settled
    const { runId: id, ...park } = resume
    const resumed = memory.runs.resume({ id, ...park, by, now })
    return resumed.outcome === 'resumed' ? { ...settled, resumed: resumed.record } : settled
  }
  const storage = { ...memory, resumesWaiting: true, tokens: { ...memory.tokens, settle } }
  return process.env['WAITPOINT_STORAGE'] === 'memory-async' ? alwaysAsync(storage) : storage
}
