import postgres from 'postgres'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, type Engine, type Storage, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { storageConformance } from 'waitpoint/testing'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { emptySchema } from '../../src/testing/storages/schema-lender.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { schemaOfTest } from './postgres/fresh-schema.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

/** A program of a hundred steps takes some thousand statements. */
const MODEL_TIMEOUT_MS = 900_000

/** What two calls do that meet, and long programs, are the statements' own, whatever sends them. They run in the long run. */
const isOfStatements = ({ id }: { readonly id: string }): boolean =>
  process.env['WAITPOINT_CASES'] === undefined && /^(overlap|model)\//.test(id)

const greet = task({ id: 'greet', run: (name: string) => `hello ${name}` })
const ask = task({ id: 'ask', run: (id: string) => wait.forToken<string>(id).unwrap() })

function openSql(options: postgres.Options<Record<string, never>> = {}): postgres.Sql {
  const sql = postgres(postgresUrl(), { max: 6, onnotice: () => undefined, ...options })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

async function openEngine(sql: postgres.Sql, schema: string): Promise<Engine> {
  const engine = createEngine({ tasks: [greet, ask], storage: postgresStorage({ pool: sql, schema }) })
  await engine.ready()
  return engine
}

describe('a storage on a connection pool of `postgres`', () => {
  const sql = postgres(postgresUrl(), { max: 6, onnotice: () => undefined })
  const pool = testPool()
  afterAll(() => Promise.all([sql.end(), pool.end()]))
  const free: string[] = []

  const open = async (): Promise<Storage & AsyncDisposable> => {
    const schema = free.pop() ?? (await freshSchema(pool))
    return {
      ...postgresStorage({ pool: sql, schema, listen: false, pollMs: 60_000 }),
      async [Symbol.asyncDispose]() {
        await emptySchema(pool, schema)
        free.push(schema)
      },
    }
  }
  const { cases } = storageConformance(open, { capabilities: { boundedHistory: false } })

  const chosen = cases.filter((one) => !isOfStatements(one))

  it.each(chosen)('keeps $id', ({ run }) => run(), MODEL_TIMEOUT_MS)
})

describe('engines on `postgres`', () => {
  it('hear of each other at once', async () => {
    const schema = schemaOfTest()
    await using worker = await openEngine(openSql(), schema)
    await using server = await openEngine(openSql(), schema)
    const token = await server.wait.createToken()
    const run = await worker.trigger(ask, token.id)
    while ((await server.runs.retrieve(run)).status !== 'WAITING') await pauseReal(5)
    await server.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('hear of each other again after all of their connections were cut', async () => {
    const schema = schemaOfTest()
    await using worker = await openEngine(openSql(), schema)
    await using server = await openEngine(openSql(), schema)
    const token = await server.wait.createToken()
    const run = await worker.trigger(ask, token.id)
    await using client = await connectPostgres()
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postgres.js'`,
    )
    await server.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('share a pool of one connection', async () => {
    const sql = openSql({ max: 1 })
    await using engine = await openEngine(sql, schemaOfTest())
    const runs = await Promise.all(['ada', 'bob'].map((name) => engine.trigger(greet, name)))
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(['hello ada', 'hello bob'])
  })

  it('close what they have opened, and leave the pool open', async () => {
    const sql = openSql({ connection: { application_name: 'closes' } })
    const engine = await openEngine(sql, schemaOfTest())
    await engine.close()
    await sql.end()
    await using client = await connectPostgres()
    // A server notices the end of a connection a little later.
    const count = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'closes'`
    while ((await client.query<{ readonly count: number }>(count)).rows[0]?.count !== 0) await pauseReal(5)
  })
})

describe('a call in a transaction of `postgres`', () => {
  it('takes effect with the commit, and not before', async () => {
    const sql = openSql()
    await using engine = await openEngine(sql, schemaOfTest())
    const run = await sql.begin(async (transaction) => {
      const triggered = await engine.trigger(greet, 'ada', { transaction })
      await expect(engine.runs.retrieve(triggered.id)).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
      return triggered
    })
    expect(await run.result()).toBe('hello ada')
  })

  it('has never been made after a rollback', async () => {
    const sql = openSql()
    await using engine = await openEngine(sql, schemaOfTest())
    const token = await engine.wait.createToken()
    const rolledBack = sql.begin(async (transaction) => {
      await engine.wait.completeToken(token, 'yes', { transaction })
      throw new Error('no')
    })
    await expect(rolledBack).rejects.toThrow('no')
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
  })

  it('is refused where none was begun', async () => {
    const sql = openSql()
    await using engine = await openEngine(sql, schemaOfTest())
    await expect(engine.trigger(greet, 'ada', { transaction: sql })).rejects.toThrow(
      'Cannot use transaction: no transaction was begun on this client',
    )
  })
})

describe('a `postgres` that changes what it reads', () => {
  it('is refused', () => {
    const sql = openSql({ transform: postgres.camel })
    expect(() => postgresStorage({ pool: sql })).toThrow(
      'Cannot use pool: its option transform changes what is read (column); make another one for the storage, without it',
    )
  })

  it('may change what it sends', async () => {
    const sql = openSql({ transform: { undefined: null } })
    await using engine = await openEngine(sql, schemaOfTest())
    expect(await (await engine.trigger(greet, 'ada')).result()).toBe('hello ada')
  })
})
