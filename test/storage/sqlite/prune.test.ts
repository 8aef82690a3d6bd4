import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { manualToken, queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { openDriver } from '../../databases/drivers.ts'

const BY = { now: 5, by: 'a' } as const

describe('pruneSqlite', () => {
  it('leaves no tag of what is gone', async () => {
    const handle = openDriver(':memory:')
    const storage = sqliteStorage(handle)
    await storage.open()
    const { runs, tokens } = storage
    const tags = ['a', 'b']
    await runs.insert({
      record: { ...queuedRun('r', { createdAt: 1, tags }), status: 'COMPLETED', finishedAt: 2 },
      ...BY,
    })
    await tokens.insert({
      record: { ...manualToken('t', { createdAt: 1, tags }), status: 'COMPLETED', completedAt: 2 },
      ...BY,
    })
    expect(await storage.prune({ before: 4, limit: 10, now: 5 })).toBe(2)
    for (const table of ['run_tags', 'token_tags', 'runs', 'tokens']) {
      expect(handle.prepare(`SELECT count(*) AS count FROM ${table}`).get()).toMatchObject({ count: 0 })
    }
    handle.close()
  })
})
