import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { connectPostgres } from './postgres/client.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'
import { untilBlocked } from './postgres/blocked.ts'

const greet = task({ id: 'greet', run: (name: string) => `hello ${name}` })

describe('a run that a transaction reads while it is claimed', () => {
  const pool = testPool(10)
  afterAll(() => pool.end())

  it('is executed nevertheless, by an engine that is never told again', async () => {
    const schema = await freshSchema(pool)
    const storage = (): ReturnType<typeof postgresStorage> => postgresStorage({ pool, schema })
    await using web = createEngine({ tasks: [greet], execute: false, storage: storage() })
    const run = await web.trigger(greet, 'ada')
    await using reader = await connectPostgres()
    // A run that begins to wait for this one takes such a lock.
    await reader.query(`BEGIN; SELECT 1 FROM ${schema}.runs FOR SHARE`)
    await using worker = createEngine({ tasks: [greet], storage: storage(), leaseMs: 3_600_000 })
    await worker.ready()
    await untilBlocked(schema)
    await reader.query('COMMIT')
    expect(await run.result()).toBe('hello ada')
  })

  it('does not keep others from being executed, however long it takes', async () => {
    const schema = await freshSchema(pool)
    const storage = (): ReturnType<typeof postgresStorage> => postgresStorage({ pool, schema })
    await using web = createEngine({ tasks: [greet], execute: false, storage: storage() })
    const run = await web.trigger(greet, 'ada')
    await using reader = await connectPostgres()
    await reader.query(`BEGIN; SELECT 1 FROM ${schema}.runs FOR SHARE`)
    await using worker = createEngine({ tasks: [greet], storage: storage(), leaseMs: 3_600_000 })
    await worker.ready()
    await untilBlocked(schema)
    const other = await web.trigger(greet, 'grace')
    expect(await other.result()).toBe('hello grace')
    await reader.query('COMMIT')
    expect(await run.result()).toBe('hello ada')
  })
})
