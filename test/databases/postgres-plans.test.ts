import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, type CreatedToken, type Engine, type Task, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { startPostgres } from './postgres/server.ts'
import { freshSchema, type TestPool, testPool } from './postgres-schemas.ts'

const HISTORY = 3_000
const AT_ONCE = 500
/** Rows that a run may read by an index of its state: as many as stand in line beside it, and some. */
const MOST_READ_PER_RUN = 60

/** Completed runs. The newest of them is none that an engine looks for. */
const RUNS = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, queue, created_at, updated_at, lane, held, reserved, ended_at, owner)
  SELECT 'run_' || lpad(n::text, 8, '0'), -n, 'ask', 'COMPLETED', 1, 1, 0, 1, 0, 0, 'run', 'queue', n, n, 'lane', 0, 0, n,
    NULL FROM generate_series(1, ${HISTORY}) AS n`

/** A task whose runs wait for a token, and a function that executes so many of them at once. */
function asking(): {
  readonly ask: Task<undefined, void>
  readonly runAll: (engine: Engine, count: number) => Promise<void>
} {
  const tokens: CreatedToken[] = []
  const ask = task({
    id: 'ask',
    run: async () => {
      const token = await wait.createToken({ timeout: '1h' })
      tokens.push(token)
      await wait.forToken(token)
    },
  })
  const runAll = async (engine: Engine, count: number): Promise<void> => {
    tokens.length = 0
    const runs = await Promise.all(Array.from({ length: count }, () => engine.trigger(ask, undefined)))
    const results = Promise.all(runs.map((run) => run.result()))
    while (tokens.length < count || engine.stats().executing > 0) await new Promise(setImmediate)
    await Promise.all(tokens.map((token) => engine.wait.completeToken(token, null)))
    await results
  }
  return { ask, runAll }
}

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

    const { ask, runAll } = asking()
    const engine = createEngine({ tasks: [ask], storage: postgresStorage({ pool, schema }) })
    await runAll(engine, AT_ONCE)
    await engine.close()
    // A connection tells what it has read when it ends.
    await pool.end()

    const read = await readByState(reader, schema, { byId: AT_ONCE })
    expect(read / AT_ONCE).toBeLessThan(MOST_READ_PER_RUN)
  })
})

describe('the plans of the steps of a run', () => {
  const CROWD = 20
  /** So that a session tells all its plans to its client, those of statements in functions too. */
  const TELLING = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_level': 'notice',
  }

  /** A scan of an index without a condition on it. */
  const FROM_THE_BEGINNING =
    /(using|Bitmap Index Scan on) (runs|tokens|waits)_.*\n(?!\s*(Disabled: true\n\s*)?Index Cond)/
  /** The first entry of what stands in line, or is due. */
  const FIRST_IN_ORDER = /Limit .*\n.*using (runs_in_line|runs_to_look_at|tokens_due) .*\n/g
  const NAMES_ID = /(runs|tokens)( (AS )?\w)?\s+(SET [^;]+)?WHERE (\w\.)?id (=|IN)/

  const states: readonly (readonly [
    state: string,
    prepare: (pool: TestPool, schema: string) => Promise<unknown>,
  ])[] = [
    ['is empty', () => Promise.resolve()],
    ['has history', (pool, schema) => pool.query(RUNS.replaceAll('$s', schema))],
    [
      'has history and was analyzed at rest',
      async (pool, schema) => {
        await pool.query(RUNS.replaceAll('$s', schema))
        for (const table of ['runs', 'tokens', 'waits']) await pool.query(`VACUUM ANALYZE ${schema}.${table}`)
      },
    ],
  ]

  it.each(states)(
    'read no table from its beginning, and by ids where these are named, on a schema that %s',
    async (_, prepare) => {
      const server = await startPostgres(TELLING)
      onTestFinished(() => server[Symbol.asyncDispose]())
      const pool = testPool(6, { connectionString: server.url })
      onTestFinished(() => pool.end())
      const schema = 'plans'
      const { ask, runAll } = asking()
      const before = createEngine({ tasks: [ask], storage: postgresStorage({ pool, schema }) })
      await before.ready()
      await before.close()
      await prepare(pool, schema)

      const plans: string[] = []
      const watched = testPool(6, { connectionString: server.url })
      onTestFinished(() => watched.end())
      watched.on('connect', (client) =>
        client.on('notice', ({ message }) => message !== undefined && plans.push(message)),
      )
      await using engine = createEngine({ tasks: [ask], storage: postgresStorage({ pool: watched, schema }) })
      await runAll(engine, 1)
      await runAll(engine, CROWD)
      await runAll(engine, 1)

      // Lists are no steps of a run: each has a plan of its own.
      const read = plans.filter(
        (plan) => /Scan/.test(plan) && /"plans"\.(runs|tokens|waits)/.test(plan) && !plan.includes('AS page'),
      )
      // The end of a run, a settled token and a tick are among them.
      for (const step of [
        'UPDATE "plans".runs AS r SET status',
        'UPDATE "plans".tokens AS o SET',
        'waits_ready',
        'runs_by_owner',
      ])
        expect(read.some((plan) => plan.includes(step))).toBe(true)
      for (const plan of read) {
        expect(plan).not.toMatch(/Seq Scan on (runs|tokens|waits)/)
        expect(plan.replaceAll(FIRST_IN_ORDER, '')).not.toMatch(FROM_THE_BEGINNING)
        // Such a scan reads the entries of all runs that an owner has had since the last vacuum. Others mark them, and pass over them.
        expect(plan).not.toMatch(/Bitmap Index Scan on runs_by_owner/)
        if (NAMES_ID.test(plan))
          expect(plan).not.toMatch(/(using|Bitmap Index Scan on) (runs|tokens)_(?!pkey)/)
      }
      expect(read.filter((plan) => NAMES_ID.test(plan)).length).toBeGreaterThan(CROWD)
    },
  )
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
