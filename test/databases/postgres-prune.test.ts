import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresStorage } from 'waitpoint/postgres'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const MINUTE = 60_000
const KEEP = 60

describe('pruning on Postgres', () => {
  const pool = testPool()
  afterAll(() => pool.end())

  it('keeps as many as it should, also when ends are stored long after they came', async () => {
    const schema = await freshSchema(pool)
    const storage = postgresStorage({ pool, schema })
    await storage.open()
    onTestFinished(() => storage.leave({ owner: 'a', now: 0 }))
    let made = 0
    const end = async (now: number, completedAt: number): Promise<void> => {
      const id = `waitpoint_${String((made += 1)).padStart(5, '0')}`
      const record = manualToken(id, { status: 'COMPLETED', createdAt: completedAt, completedAt })
      await storage.tokens.insert({ record, now, by: 'a' })
    }
    const count = async (): Promise<number> => {
      const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${schema}.tokens`)
      return (rows as readonly { readonly count: number }[])[0]?.count ?? 0
    }
    let tooMany = 0
    for (let round = 1; round <= 60; round += 1) {
      const now = round * MINUTE
      for (let at = 0; at < 5; at += 1) await end(now, now)
      // It timed out while no engine was there to see it.
      if (round % 5 === 0 && round <= 40) await end(now, now - 5 * MINUTE)
      const there = await count()
      while ((await storage.prune({ before: 0, keep: KEEP, limit: 5, now })) > 0);
      const kept = await count()
      expect(kept).toBeGreaterThanOrEqual(Math.min(KEEP, there))
      tooMany = Math.max(0, kept - KEEP)
      expect(tooMany).toBeLessThan(5)
      // By age alone, as an engine with other options does.
      if (round % 20 === 0) await storage.prune({ before: now - 6 * MINUTE, limit: 100, now })
    }
    expect(tooMany).toBe(0)
  })

  it('drops the writers of a run with its streams', async () => {
    const schema = await freshSchema(pool)
    const storage = postgresStorage({ pool, schema })
    await storage.open()
    onTestFinished(() => storage.leave({ owner: 'a', now: 0 }))
    const record = { ...queuedRun('r', { createdAt: 1 }), status: 'COMPLETED', finishedAt: 2 } as const
    await storage.runs.insert({ record, now: 2, by: 'a' })
    await pool.query(`INSERT INTO ${schema}.streams VALUES ('r', 'k', 0, '[]', 1, 0)`)
    await pool.query(`INSERT INTO ${schema}.writers VALUES ('r', 'k', 'client', 249)`)
    expect(await storage.prune({ before: 4, limit: 10, now: 5 })).toBe(1)
    expect((await pool.query(`SELECT 1 FROM ${schema}.writers`)).rows).toEqual([])
  })
})
