import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { madeId, namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { functionSql } from '../../src/storage/postgres/schema.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const MINUTE = 60_000
const KEEP = 60

interface Blocks {
  readonly 'Shared Hit Blocks': number
}

/** The id of the run `r`. */
const RUN = madeId('run', 'r', 1)

describe('pruning on Postgres', () => {
  const pool = testPool()
  afterAll(() => pool.end())

  it('keeps as many as it should, also when ends are stored long after they came', async () => {
    const schema = await freshSchema(pool)
    const storage = namedStorage(postgresStorage({ pool, schema }))
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
    const { schema, storage } = await withEndedRun()
    await pool.query(`INSERT INTO ${schema}.streams VALUES ('${RUN}', 'k', 0, '[]', 1, 0)`)
    await pool.query(`INSERT INTO ${schema}.writers VALUES ('${RUN}', 'k', 'client', 249)`)
    expect(await storage.prune({ before: 4, limit: 10, now: 5 })).toBe(1)
    expect((await pool.query(`SELECT 1 FROM ${schema}.writers`)).rows).toEqual([])
  })

  it('drops what a run has asked for before the run, where that is more than a batch', async () => {
    const { schema, storage } = await withEndedRun()
    await pool.query(`INSERT INTO ${schema}.tokens (id, seq, kind, status, run_id, created_at, completed_at, ended_at)
      SELECT 'once_' || n, n, 'SLEEP', 'COMPLETED', '${RUN}', 1, 9, 9 FROM generate_series(1, 25) AS n`)
    const drop = (): unknown => storage.prune({ before: 4, limit: 10, now: 5 })
    const rows = async (table: string): Promise<number> =>
      (await pool.query(`SELECT 1 FROM ${schema}.${table}`)).rows.length
    expect([await drop(), await drop(), await rows('runs'), await rows('tokens')]).toEqual([10, 10, 1, 5])
    expect([await drop(), await drop(), await rows('runs'), await rows('tokens')]).toEqual([6, 0, 0, 0])
  })

  it('drops a run with very many chunks in several batches', async () => {
    const { schema, storage } = await withEndedRun()
    await pool.query(`INSERT INTO ${schema}.streams VALUES ('${RUN}', 'k', 0, '[]', 1, 0)`)
    await pool.query(
      `INSERT INTO ${schema}.chunks SELECT '${RUN}', 'k', n, 1, '"a"' FROM generate_series(0, 10000) AS n`,
    )
    // A whole batch, so that the engine goes on at once.
    expect(await storage.prune({ before: 4, limit: 10, now: 5 })).toBe(10)
    expect((await pool.query(`SELECT 1 FROM ${schema}.runs`)).rows).toHaveLength(1)
    expect(await storage.prune({ before: 4, limit: 10, now: 5 })).toBe(1)
    expect((await pool.query(`SELECT 1 FROM ${schema}.chunks`)).rows).toEqual([])
  })

  it('asks a few statements for a batch, however many records it drops', async () => {
    const { schema, storage } = await withEndedRun()
    await pool.query(`INSERT INTO ${schema}.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch,
        slot, returned, root_id, queue, created_at, updated_at, lane, held, reserved, ended_at, tags, tag_list)
      SELECT 'copy_' || n, n, 'task', 'COMPLETED', 1, 1, 0, 1, 0, 0, 'copy_' || n, 'queue', 1, 2, 'lane', 0, 0, 2, '["a"]', ARRAY['a']
      FROM generate_series(1, 100) AS n`)
    await pool.query(
      `INSERT INTO ${schema}.run_tags SELECT 'a', id FROM ${schema}.runs WHERE id LIKE 'copy_%'`,
    )
    const client = await pool.connect()
    onTestFinished(() => client.release())
    await client.query(`SET track_functions = 'all'`)
    await client.query('BEGIN')
    const request = JSON.stringify([{ before: 4, most: 200, now: 5 }])
    const { rows } = await client.query(functionSql(schema, 'prune'), [request])
    expect(rows).toEqual([{ answer: '[101]' }])
    // Of this transaction: a function that is called for each record would be there a hundred times.
    const calls = await client.query(
      `SELECT proname AS name, pg_stat_get_xact_function_calls(oid)::int AS calls FROM pg_proc
       WHERE pronamespace = to_regnamespace($1) AND proname NOT LIKE 'is_%'`,
      [schema],
    )
    await client.query('ROLLBACK')
    const most = Math.max(...(calls.rows as readonly { readonly calls: number }[]).map((row) => row.calls))
    expect(most).toBeLessThan(5)
    await storage.prune({ before: 4, limit: 200, now: 5 })
    for (const table of ['runs', 'run_tags'])
      expect((await pool.query(`SELECT 1 FROM ${schema}.${table}`)).rows).toEqual([])
  })

  it('finds tags by their index, also where the server has planned for a table that was empty', async () => {
    const { schema } = await withEndedRun()
    await pool.query(`ALTER TABLE ${schema}.token_tags SET (autovacuum_enabled = false)`)
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const prune = [
      functionSql(schema, 'prune'),
      [JSON.stringify([{ before: 4, most: 200, now: 5 }])],
    ] as const
    await client.query(prune[0], [...prune[1]])
    await client.query(`INSERT INTO ${schema}.tokens (id, seq, kind, status, created_at, completed_at, ended_at, tags, tag_list)
      SELECT 'token_' || n, n, 'MANUAL', 'COMPLETED', 1, 2, 2, '["a"]', ARRAY['a'] FROM generate_series(1, 50) AS n`)
    await client.query(
      `INSERT INTO ${schema}.token_tags SELECT 'a', 'token_' || n FROM generate_series(1, 20000) AS n`,
    )
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${prune[0]}`, [...prune[1]])
    const [explained] = rows as readonly { readonly 'QUERY PLAN': readonly [{ readonly Plan: Blocks }] }[]
    // The index has some hundred pages. Each record is found in a few pages of each index.
    expect(explained?.['QUERY PLAN'][0].Plan['Shared Hit Blocks']).toBeLessThan(50 * 50)
    expect((await client.query(`SELECT count(*)::int AS count FROM ${schema}.token_tags`)).rows).toEqual([
      { count: 19_950 },
    ])
  })

  /** A schema with one completed run, `r`. */
  async function withEndedRun(): Promise<{ readonly schema: string; readonly storage: Storage }> {
    const schema = await freshSchema(pool)
    const storage = namedStorage(postgresStorage({ pool, schema }))
    await storage.open()
    onTestFinished(() => storage.leave({ owner: 'a', now: 0 }))
    const record = { ...queuedRun('r', { createdAt: 1 }), status: 'COMPLETED', finishedAt: 2 } as const
    await storage.runs.insert({ record, now: 2, by: 'a' })
    return { schema, storage }
  }
})
