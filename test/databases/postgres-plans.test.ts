import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, type CreatedToken, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { freshSchema, testPool } from './postgres-schemas.ts'

const HISTORY = 3_000
const AT_ONCE = 500
/** Rows that a run may read by an index of its state: as many as stand in line beside it, and some. */
const MOST_READ_PER_RUN = 60

/** Completed runs. The newest of them is none that an engine looks for. */
const RUNS = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, queue, created_at, updated_at, lane, held, reserved, ended_at, owner)
  SELECT 'run_' || lpad(n::text, 8, '0'), -n, 'ask', 'COMPLETED', 1, 1, 0, 1, 0, 0, 'run', 'queue', n, n, 'lane', 0, 0, n,
    NULL FROM generate_series(1, ${HISTORY}) AS n`

describe('the steps of a run', () => {
  it('go by its id, also where the server has counted a schema in which nothing was under way', async () => {
    const pool = testPool()
    const reader = testPool(1)
    const schema = await freshSchema(reader)
    onTestFinished(async () => {
      await reader.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await reader.end()
    })
    const first = createEngine({ tasks: [], storage: postgresStorage({ pool, schema }) })
    await first.ready()
    await first.close()
    await reader.query(RUNS.replaceAll('$s', schema))
    await reader.query(`VACUUM ANALYZE ${schema}.runs`)

    const tokens: CreatedToken[] = []
    const ask = task({
      id: 'ask',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h' })
        tokens.push(token)
        await wait.forToken(token)
      },
    })
    const engine = createEngine({ tasks: [ask], storage: postgresStorage({ pool, schema }) })
    const runs = await Promise.all(Array.from({ length: AT_ONCE }, () => engine.trigger(ask, undefined)))
    const results = Promise.all(runs.map((run) => run.result()))
    while (tokens.length < AT_ONCE || engine.stats().executing > 0) await new Promise(setImmediate)
    await Promise.all(tokens.map((token) => engine.wait.completeToken(token, null)))
    await results
    await engine.close()
    // A connection tells what it has read when it ends.
    await pool.end()

    const read = await readByState(reader, schema, { byId: AT_ONCE })
    expect(read / AT_ONCE).toBeLessThan(MOST_READ_PER_RUN)
  })
})

/** The entries that were read of indexes by the state of runs, once the reads by id are known as well. */
async function readByState(
  reader: ReturnType<typeof testPool>,
  schema: string,
  { byId }: { readonly byId: number },
): Promise<number> {
  for (;;) {
    const { rows } = await reader.query(
      `SELECT coalesce(sum(idx_scan) FILTER (WHERE indexrelname = 'runs_pkey'), 0)::int AS "byId",
         coalesce(sum(idx_tup_read) FILTER (WHERE indexrelname <> 'runs_pkey'), 0)::int AS "byState"
       FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname = 'runs'`,
      [schema],
    )
    const [found] = rows as readonly { readonly byId: number; readonly byState: number }[]
    if (found !== undefined && found.byId >= byId) return found.byState
    await new Promise(setImmediate)
  }
}
