import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { rejection } from '../support/body-task.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { freshDatabase } from './postgres/fresh-database.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const ask = task({ id: 'ask', run: (id: string) => wait.forToken<string>(id).unwrap() })

describe('a database whose transactions see one snapshot each', () => {
  it('is refused with what to do: wake-ups would be lost', async () => {
    await using schema = new FreshSchema()
    const url = new URL(postgresUrl())
    url.searchParams.set('options', '-c default_transaction_isolation=repeatable\\ read')
    const storage = postgresStorage({ connectionString: String(url), schema: schema.schema })
    await using engine = createEngine({ tasks: [ask], storage })
    expect(String(await rejection(engine.ready()))).toMatch(/default_transaction_isolation/)
  })
})

describe('a server that can only be read', () => {
  it('is refused when it is opened', async () => {
    await using schema = new FreshSchema()
    const url = new URL(postgresUrl())
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const storage = postgresStorage({ connectionString: String(url), schema: schema.schema })
    await using engine = createEngine({ tasks: [ask], storage })
    expect(String(await rejection(engine.ready()))).toMatch(/read-only: name the primary/)
  })
})

describe('a transaction of the caller', () => {
  const pool = testPool(10)
  afterAll(() => pool.end())

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])(
    'that is %s is refused: it would not see who waits',
    async (level) => {
      const storage = postgresStorage({ pool, schema: await freshSchema(pool) })
      await using engine = createEngine({ tasks: [ask], storage })
      const token = await engine.wait.createToken()
      await using client = await connectPostgres()
      await client.query(`BEGIN ISOLATION LEVEL ${level}`)
      await client.query('SELECT 1')
      const run = await engine.trigger(ask, token.id)
      while ((await engine.runs.retrieve(run.id)).status !== 'WAITING') await pauseReal(5)
      const refused = await rejection(engine.wait.completeToken(token, 'yes', { transaction: client }))
      expect(String(refused)).toMatch(/READ COMMITTED/)
      await client.query('COMMIT')
      await engine.wait.completeToken(token, 'later')
      expect(await run.result()).toBe('later')
    },
  )

  it('of another database is refused, and goes on', async () => {
    const schema = await freshSchema(pool)
    await using engine = createEngine({ tasks: [ask], storage: postgresStorage({ pool, schema }) })
    const token = await engine.wait.createToken()
    await using database = await freshDatabase()
    await using client = await connectPostgres(database.url)
    await client.query('BEGIN')
    const refused = await rejection(engine.wait.completeToken(token, 'yes', { transaction: client }))
    expect(String(refused)).toMatch(/another database .* schema "test_/)
    expect(await client.query('SELECT 1 AS one')).toMatchObject({ rows: [{ one: 1 }] })
    await client.query('ROLLBACK')
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
  })

  it('that was not begun is refused', async () => {
    const storage = postgresStorage({ pool, schema: await freshSchema(pool) })
    await using engine = createEngine({ tasks: [ask], storage })
    const token = await engine.wait.createToken()
    await using client = await connectPostgres()
    for (const transaction of [client, pool]) {
      const refused = await rejection(engine.wait.completeToken(token, 'yes', { transaction }))
      expect(String(refused)).toMatch(/no transaction was begun/)
    }
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
  })
})
