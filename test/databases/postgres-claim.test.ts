import { afterAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, type Storage, task } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { connectPostgres, type PostgresClient } from './postgres/client.ts'
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

describe('a claim that finds nothing but a run that is locked', () => {
  const pool = testPool(3)
  afterAll(() => pool.end())

  it('does not keep its engine from new runs for long', async () => {
    const schema = await freshSchema(pool)
    await using web = createEngine({
      tasks: [greet],
      execute: false,
      storage: postgresStorage({ pool, schema }),
    })
    const run = await web.trigger(greet, 'ada')
    await using reader = await connectPostgres()
    await reader.query(`BEGIN; SELECT 1 FROM ${schema}.runs FOR SHARE`)
    await using claimer = await connectPostgres()
    await claimer.query('SET statement_timeout = 200')
    await claimer.query(`SELECT ${schema}.wait_for_lock($1)`, [[run.id]])
    await reader.query('ROLLBACK')
  })
})

describe('the new runs of one turn that one engine is to claim', () => {
  const pool = testPool(12)
  afterAll(() => pool.end())

  it('are for others too if it leaves some for later, though it has claimed the last one', async ({
    signal: over,
  }) => {
    const schema = await freshSchema(pool)
    let started = 0
    const allStarted = createDeferred<void>()
    const hold = task({
      id: 'hold',
      queue: { rate: { limit: 18, per: '1s' } },
      run: async (isHeld: boolean, { signal }) => {
        if (!isHeld) return
        started += 1
        if (started === 32) allStarted.resolve()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    })
    const open = (execute = true): Engine =>
      createEngine({
        ...{ tasks: [hold], execute, concurrency: 20, leaseMs: 3_600_000 },
        storage: postgresStorage({ pool, schema }),
      })
    await using web = open(false)
    await using called = open()
    await called.ready()
    await (await web.trigger(hold, false)).result()
    await using other = open()
    await other.ready()
    // Of the first key 18 may start at once. The others may when there is only one slot left where the first were claimed.
    const keys = Array.from({ length: 32 }, (_, at) => (at === 31 ? 'b' : 'a'))
    await Promise.all(keys.map((concurrencyKey) => web.trigger(hold, true, { concurrencyKey })))
    over.addEventListener('abort', () => allStarted.resolve())
    await allStarted.promise
    expect(started).toBe(32)
  })
})

describe('the new runs of one turn', () => {
  const pool = testPool(2)
  afterAll(() => pool.end())
  const now = 1_000

  /** Inserts all of them in one turn. Returns whether each was claimed. */
  async function insertAll(
    storage: Storage,
    runs: readonly { readonly id: string; readonly by: string; readonly queue?: string }[],
  ): Promise<readonly boolean[]> {
    const inserted = await Promise.all(
      runs.map(async ({ id, by, queue = 'greetings' }) => {
        const claim = { taskIds: ['task'], version: 'v', number: 0 }
        return storage.runs.insert({ record: queuedRun(id, { createdAt: now, queue }), claim, now, by })
      }),
    )
    return inserted.map((answer) => answer !== 'stale' && answer.isClaimed === true)
  }

  it('are claimed for the engines that have a lease, of queues of which nothing is set', async () => {
    const storage = namedStorage(postgresStorage({ pool, schema: await freshSchema(pool), listen: false }))
    await storage.open()
    await storage.tick({ owner: 'one', now, leaseUntil: now + 60_000, limit: 10 })
    await storage.tick({ owner: 'two', now, leaseUntil: now + 60_000, limit: 10 })
    await storage.queues?.set({ name: 'mail', limit: 5, now, by: 'one' })
    const first = [
      { id: 'a', by: 'one' },
      { id: 'b', by: 'two' },
      { id: 'c', by: 'one' },
      { id: 'd', by: 'one', queue: 'mail' },
    ]
    expect(await insertAll(storage, first)).toEqual([true, true, true, false])
    const { runs } = await storage.runs.claim({
      ...{ taskIds: ['task'], limit: 10, queueLimits: new Map(), maxInterruptions: 3, number: 1 },
      ...{ by: 'two', now },
    })
    expect(runs.map(({ id }) => id)).toEqual(['d'])
    const second = [
      { id: 'e', by: 'one' },
      { id: 'f', by: 'three' },
      { id: 'g', by: 'one' },
    ]
    expect(await insertAll(storage, second)).toEqual([true, false, false])
    await storage.leave({ owner: 'one', now })
    await storage.leave({ owner: 'two', now })
  })
})

describe('a claim beside another one that is under way', () => {
  const pool = testPool(4)
  afterAll(() => pool.end())
  const now = 1_000

  interface Line extends AsyncDisposable {
    readonly storage: Storage
    readonly schema: string
  }

  /** A storage with so many runs in line. */
  async function lineOf(runs: number): Promise<Line> {
    const schema = await freshSchema(pool)
    const storage = namedStorage(postgresStorage({ pool, schema, listen: false }))
    await storage.open()
    const owners = ['one', 'two']
    for (const owner of owners) await storage.tick({ owner, now, leaseUntil: now + 60_000, limit: 10 })
    const records = Array.from({ length: runs }, (_, at) => queuedRun(`run ${at}`, { createdAt: now }))
    await Promise.all(records.map(async (record) => storage.runs.insert({ record, now, by: 'web' })))
    return {
      ...{ storage, schema },
      async [Symbol.asyncDispose]() {
        for (const owner of owners) await storage.leave({ owner, now })
      },
    }
  }

  async function claim(storage: Storage, limit: number): Promise<number> {
    const { runs } = await storage.runs.claim({
      ...{ taskIds: ['task'], limit, queueLimits: new Map(), maxInterruptions: 3, number: 1 },
      ...{ by: 'two', now },
    })
    return runs.length
  }

  /** Another claim, which is not committed. */
  async function claimElsewhere(client: PostgresClient, schema: string, most: number): Promise<void> {
    const request = { by_owner: 'one', now, number: 1, task_ids: ['task'], most, max_interruptions: 3 }
    await client.query('BEGIN')
    await client.query(`SELECT ${schema}.claim_runs($1)`, [JSON.stringify([request])])
  }

  /** Claims of this schema wait for their turn as long as it takes. */
  async function makePatient(client: PostgresClient, schema: string): Promise<void> {
    const { rows } = await client.query<{ readonly sql: string }>(
      `SELECT pg_get_functiondef('${schema}.wait_for_turn'::regproc) AS sql`,
    )
    await client.query((rows[0]?.sql ?? '').replace(/'lock_timeout', '\d+'/, "'lock_timeout', '0'"))
  }

  it('waits for its turn if it has room for many, instead of looking at each run that the other one has locked', async () => {
    await using line = await lineOf(40)
    const { storage, schema } = line
    await using other = await connectPostgres()
    await makePatient(other, schema)
    await claimElsewhere(other, schema, 30)
    const claimed = claim(storage, 100)
    await Promise.race([untilBlocked(schema), claimed])
    await other.query('ROLLBACK')
    expect(await claimed).toBe(40)
  })

  it('takes what is free at once if the other one has few', async () => {
    await using line = await lineOf(10)
    const { storage, schema } = line
    await using other = await connectPostgres()
    await makePatient(other, schema)
    await claimElsewhere(other, schema, 30)
    await storage.runs.insert({ record: queuedRun('a new one', { createdAt: now }), now, by: 'web' })
    const claimed = await Promise.race([claim(storage, 100), untilBlocked(schema)])
    await other.query('ROLLBACK')
    expect(claimed).toBe(1)
  })

  it('takes what is free at once if it has room for few', async () => {
    await using line = await lineOf(40)
    const { storage, schema } = line
    await using other = await connectPostgres()
    await makePatient(other, schema)
    await claimElsewhere(other, schema, 30)
    expect(await claim(storage, 16)).toBe(10)
    await other.query('ROLLBACK')
  })

  it('takes what is free if the other one does not end', async () => {
    await using line = await lineOf(40)
    const { storage, schema } = line
    await using other = await connectPostgres()
    await claimElsewhere(other, schema, 30)
    expect(await claim(storage, 100)).toBe(10)
    await other.query('ROLLBACK')
  })
})
