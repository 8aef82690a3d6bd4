import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { startPostgres } from './postgres/server.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const greet = task({ id: 'greet', run: (name: string) => `hello ${name}` })
const ask = task({ id: 'ask', run: (id: string) => wait.forToken<string>(id).unwrap() })

/** A pool of one connection, which is closed when it is disposed of. */
function onlyConnection(connectionString: string): { readonly pool: PostgresPool } & AsyncDisposable {
  const pool = testPool(1, { connectionString })
  pool.on('error', () => undefined)
  return { pool, [Symbol.asyncDispose]: () => pool.end() }
}

describe('a call in a transaction of the caller', () => {
  const pool = testPool(10)
  afterAll(() => pool.end())

  async function openEngine(schema: string): Promise<Engine> {
    const engine = createEngine({ tasks: [greet, ask], storage: postgresStorage({ pool, schema }) })
    await engine.ready()
    return engine
  }

  it('triggers a run when the transaction is committed, and not before', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await using client = await connectPostgres()
    await client.query('BEGIN')
    const run = await engine.trigger(greet, 'ada', { transaction: client })
    await expect(engine.runs.retrieve(run.id)).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await client.query('COMMIT')
    expect(await run.result()).toBe('hello ada')
  })

  it('triggers nothing when the transaction is rolled back', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await using client = await connectPostgres()
    await client.query('BEGIN')
    const run = await engine.trigger(greet, 'ada', { transaction: client })
    await client.query('ROLLBACK')
    await expect(engine.runs.retrieve(run.id)).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
  })

  it('executes a delayed run in time', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await using client = await connectPostgres()
    await client.query('BEGIN')
    const run = await engine.trigger(greet, 'ada', { transaction: client, delay: 50 })
    await client.query('COMMIT')
    expect(await run.result()).toBe('hello ada')
  })

  it('puts a debounced run off when the transaction is committed, and a run that it rolls back is not there', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await using client = await connectPostgres()
    const debounce = { key: 'k', delay: '1h', mode: 'trailing' } as const
    const run = await engine.trigger(greet, 'ada', { debounce })
    for (const [end, payload] of [
      ['ROLLBACK', 'ada'],
      ['COMMIT', 'bob'],
    ] as const) {
      await client.query('BEGIN')
      const pushed = await engine.trigger(greet, 'bob', { debounce, transaction: client })
      expect([pushed.id, pushed.isCached]).toEqual([run.id, true])
      await client.query(end)
      expect((await engine.runs.retrieve(run)).payload).toBe(payload)
    }
  })

  it('completes a token when the transaction is committed: its run goes on', async () => {
    const schema = await freshSchema(pool)
    await using worker = await openEngine(schema)
    await using server = await openEngine(schema)
    await using client = await connectPostgres()
    const token = await server.wait.createToken()
    const run = await worker.trigger(ask, token.id)
    await client.query('BEGIN')
    const completed = await server.wait.completeToken(token, 'yes', { transaction: client })
    expect(completed).toEqual({ success: true, status: 'COMPLETED' })
    expect(await server.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
    await client.query('COMMIT')
    expect(await run.result()).toBe('yes')
  })

  it('leaves a token as it was when the transaction is rolled back', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await using client = await connectPostgres()
    const token = await engine.wait.createToken()
    await client.query('BEGIN')
    await engine.wait.completeToken(token, 'no', { transaction: client })
    await client.query('ROLLBACK')
    expect(await engine.wait.completeToken(token, 'yes')).toEqual({ success: true, status: 'COMPLETED' })
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ output: 'yes' })
  })

  it('may have the only connection of the pool', async () => {
    await using schema = new FreshSchema()
    await using one = onlyConnection(postgresUrl())
    const storage = postgresStorage({ pool: one.pool, schema: schema.schema, listen: false, pollMs: 10 })
    await using engine = createEngine({ tasks: [greet, ask], storage })
    const token = await engine.wait.createToken()
    const asked = await engine.trigger(ask, token.id)
    while ((await engine.runs.retrieve(asked)).status !== 'WAITING') await pauseReal(5)
    const client = await one.pool.connect()
    await client.query('BEGIN')
    const run = await engine.trigger(greet, 'ada', { transaction: client, idempotencyKey: 'k' })
    await engine.wait.completeToken(token, 'yes', { transaction: client })
    await client.query('COMMIT')
    client.release()
    expect(await Promise.all([run.result(), asked.result()])).toEqual(['hello ada', 'yes'])
  })

  it('is refused when it has the only connection of the pool, and the server was started again', async () => {
    await using server = await startPostgres()
    await using one = onlyConnection(server.url)
    const storage = postgresStorage({ pool: one.pool, listen: false, pollMs: 10 })
    await using engine = createEngine({ tasks: [greet], storage })
    await engine.ready()
    await server.restart('fast')
    const client = await one.pool.connect()
    await client.query('BEGIN')
    await expect(engine.trigger(greet, 'ada', { transaction: client })).rejects.toThrow(
      /let the pool have more than one/,
    )
    await client.query('ROLLBACK')
    client.release()
    expect(await (await engine.trigger(greet, 'ada')).result()).toBe('hello ada')
  })

  it('is refused for what is no client', async () => {
    await using engine = await openEngine(await freshSchema(pool))
    await expect(engine.trigger(greet, 'ada', { transaction: {} })).rejects.toThrow(
      /must be a client of pg on which a transaction was begun/,
    )
  })
})

describe('an engine with execute: false', () => {
  const pool = testPool(10)
  afterAll(() => pool.end())

  it('triggers what a worker executes, and follows it', async () => {
    const schema = await freshSchema(pool)
    const where: string[] = []
    const place = task({ id: 'place', run: (name: string) => void where.push(name) })
    await using server = createEngine({
      tasks: [place],
      execute: false,
      storage: postgresStorage({ pool, schema }),
    })
    const run = await server.trigger(place, 'worker')
    expect(await server.runs.retrieve(run.id)).toMatchObject({ status: 'QUEUED' })
    await using worker = createEngine({ tasks: [place], storage: postgresStorage({ pool, schema }) })
    await worker.ready()
    await run.result()
    expect(where).toEqual(['worker'])
  })
})
