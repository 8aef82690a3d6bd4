import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { madeId, namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { openDriver } from '../../databases/drivers.ts'

const BY = { now: 5, by: 'a' } as const

describe('pruneSqlite', () => {
  it('leaves no tag of what is gone', async () => {
    const handle = openDriver(':memory:')
    const storage = namedStorage(sqliteStorage(handle))
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

  it('counts all records only before the first batch and before the last', async () => {
    const handle = openDriver(':memory:')
    let counts = 0
    const storage = namedStorage(
      sqliteStorage({
        exec: (sql) => handle.exec(sql),
        prepare(sql) {
          const statement = handle.prepare(sql)
          if (!sql.includes('count(*) FROM runs WHERE ended_at')) return statement
          return new Proxy(statement, {
            get(target, name) {
              const value: unknown = Reflect.get(target, name)
              if (typeof value !== 'function') return value
              return (...args: readonly unknown[]): unknown => {
                if (name === 'get' || name === 'all') counts += 1
                return Reflect.apply(value, target, args)
              }
            },
          })
        },
        close: () => handle.close(),
      }),
    )
    await storage.open()
    const { tokens } = storage
    const tokenOf = (index: number): ReturnType<typeof manualToken> => ({
      ...manualToken(`t${index}`, { createdAt: 1 }),
      status: 'COMPLETED',
      completedAt: 2,
    })
    for (let index = 0; index < 100; index += 1) await tokens.insert({ record: tokenOf(index), ...BY })
    counts = 0
    const batch = { before: 0, keep: 5, limit: 10, now: 5 }
    const pruned: number[] = []
    for (let index = 0; index < 11; index += 1) pruned.push(await storage.prune(batch))
    expect(pruned).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 5, 0])
    expect(counts).toBeLessThanOrEqual(3)
    expect(counts).toBeGreaterThan(0)
    await tokens.insert({ record: tokenOf(100), ...BY })
    expect(await storage.prune({ ...batch, keep: 3 })).toBe(3)
    handle.close()
  })

  it('drops a run with many chunks piece by piece', async () => {
    const handle = openDriver(':memory:')
    const storage = namedStorage(sqliteStorage(handle))
    await storage.open()
    const record = { ...queuedRun('r', { createdAt: 1 }), status: 'COMPLETED', finishedAt: 2 } as const
    await storage.runs.insert({ record, ...BY })
    handle.exec(`INSERT INTO streams VALUES ('${madeId('run', 'r', 1)}', 'k', 250, '[]')`)
    handle.exec(`INSERT INTO writers VALUES ('${madeId('run', 'r', 1)}', 'k', 'client', 249)`)
    handle.exec(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 249)
      INSERT INTO chunks SELECT '${madeId('run', 'r', 1)}', 'k', i, 1, '["x"]' FROM n`)
    const rows = (): unknown => handle.prepare('SELECT count(*) AS count FROM chunks').get()
    const batch = { before: 4, limit: 10, now: 5 }
    expect(await storage.prune(batch)).toBe(10)
    expect(rows()).toMatchObject({ count: 150 })
    expect(await storage.prune(batch)).toBe(10)
    // Five for the chunks that were left, one for the run.
    expect(await storage.prune(batch)).toBe(6)
    expect(await storage.runs.get('r')).toBeUndefined()
    expect(handle.prepare('SELECT count(*) AS count FROM writers').get()).toMatchObject({ count: 0 })
    handle.close()
  })
})
