import { describe, expect, it, onTestFinished } from 'vitest'
import { createEngine, type Engine, type Storage, task, wait } from 'waitpoint'
import { type PostgresPool, postgresStorage } from 'waitpoint/postgres'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken } from '../../src/testing/conformance/sample-records.ts'
import { connectPostgres, type PostgresClient, postgresUrl } from './postgres/client.ts'
import { startPostgres } from './postgres/server.ts'
import { freshSchema, patientPool, testPool } from './postgres-schemas.ts'

/** Calls of one turn, beside the one that waits. */
const OTHERS = 20

const job = task({ id: 'job', run: (payload: number) => payload })
/** Executes until it is stopped, the first time. */
const busy = task({
  id: 'busy',
  run: async (_payload: undefined, { ctx, signal }) => {
    if (ctx.attempt.number === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})
const ask = task({ id: 'ask', run: (id: string) => wait.forToken<string>(id).unwrap() })

/** The server, with a `lock_timeout` for each connection. */
function urlWithLockTimeout(ms: number): string {
  const url = new URL(postgresUrl())
  url.searchParams.set('options', `-c lock_timeout=${ms}`)
  return String(url)
}

/** An engine on a schema of its own, for one test. */
async function openEngine(connectionString: string = postgresUrl()): Promise<Engine> {
  const pool = testPool(3, { connectionString })
  const schema = await freshSchema(pool)
  const engine = createEngine({ tasks: [job, ask], storage: postgresStorage({ pool, schema, pollMs: 20 }) })
  onTestFinished(async () => {
    await engine.close()
    // Autovacuum may have a table locked for longer than the lock_timeout of a test.
    await pool.query(`SET LOCAL lock_timeout = 0; DROP SCHEMA ${schema} CASCADE`)
    await pool.end()
  })
  await engine.ready()
  return engine
}

/** A transaction that is open until the test ends it, or is over. */
async function begun(): Promise<PostgresClient & AsyncDisposable> {
  const client = await connectPostgres()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  return client
}

const byTask = (engine: Engine, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, async (_, at) => (await engine.trigger(job, at)).result()))

describe('a transaction that has joined a trigger with a key, while it is open', () => {
  it('lets only triggers with this key wait', async () => {
    const engine = await openEngine()
    const client = await begun()
    const first = await engine.trigger(job, 1, { idempotencyKey: 'order-7', transaction: client })
    const second = engine.trigger(job, 2, { idempotencyKey: 'order-7' })
    // Calls of one turn with it, and of a later one.
    expect(await byTask(engine, OTHERS)).toHaveLength(OTHERS)
    expect(await byTask(engine, OTHERS)).toHaveLength(OTHERS)
    await client.query('COMMIT')
    expect((await second).id).toBe(first.id)
    expect(await (await second).result()).toBe(1)
  })

  it('lets triggers with this key go on when it is rolled back, or its connection ends', async () => {
    const engine = await openEngine()
    for (const ending of ['ROLLBACK', 'SELECT pg_terminate_backend(pg_backend_pid())']) {
      const client = await begun()
      await engine.trigger(job, 1, { idempotencyKey: ending, transaction: client })
      const second = engine.trigger(job, 2, { idempotencyKey: ending })
      await byTask(engine, 1)
      await client.query(ending).catch(() => undefined)
      expect(await (await second).result()).toBe(2)
    }
  })

  it('holds up no other key, however many there are', async () => {
    const engine = await openEngine()
    const client = await begun()
    await engine.trigger(job, 0, { idempotencyKey: 'order-7', transaction: client })
    const others = Array.from({ length: 1_500 }, (_, at) =>
      engine.wait.createToken({ idempotencyKey: `key ${at}` }),
    )
    const triggers = Array.from({ length: 1_500 }, (_, at) =>
      engine.trigger(job, at, { idempotencyKey: `key ${at}`, delay: '1d' }),
    )
    expect(new Set((await Promise.all(others)).map(({ id }) => id)).size).toBe(1_500)
    expect(new Set((await Promise.all(triggers)).map(({ id }) => id)).size).toBe(1_500)
    await client.query('COMMIT')
  })
})

describe('a transaction that has put a debounced run off, while it is open', () => {
  it('lets only triggers with its key wait', async () => {
    await using pool = patientPool(postgresUrl())
    const schema = await freshSchema(pool)
    await using engine = createEngine({
      tasks: [job],
      storage: postgresStorage({ pool, schema, pollMs: 20 }),
    })
    const debounce = { key: 'doc-7', delay: '1h', mode: 'trailing' } as const
    const first = await engine.trigger(job, 1, { debounce })
    const client = await begun()
    expect((await engine.trigger(job, 2, { debounce, transaction: client })).id).toBe(first.id)
    // A turn with both: it waits for no lock of the run.
    const second = engine.trigger(job, 3, { debounce })
    expect(await byTask(engine, OTHERS)).toHaveLength(OTHERS)
    expect((await engine.runs.retrieve(first)).payload).toBe(1)
    await client.query('COMMIT')
    expect((await second).id).toBe(first.id)
    expect((await engine.runs.retrieve(first)).payload).toBe(3)
  })
})

describe('a transaction that has joined a completion, while it is open', () => {
  it('lets only completions of this token wait', async () => {
    const engine = await openEngine()
    const token = await engine.wait.createToken()
    const others = await Promise.all(Array.from({ length: OTHERS }, () => engine.wait.createToken()))
    const client = await begun()
    await engine.wait.completeToken(token, 1, { transaction: client })
    const second = engine.wait.completeToken(token, 2)
    const late = await engine.wait.createToken()
    const completed = others.map((other) => engine.wait.completeToken(other, 3))
    for (const { success } of await Promise.all(completed)) expect(success).toBe(true)
    expect((await engine.wait.completeToken(late, 3)).success).toBe(true)
    await client.query('COMMIT')
    expect((await second).success).toBe(false)
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ output: 1 })
  })

  it('lets others be completed in a turn with it', async () => {
    const engine = await openEngine()
    const [token, ...others] = await Promise.all(
      Array.from({ length: OTHERS }, () => engine.wait.createToken()),
    )
    if (token === undefined) throw new Error('Cannot begin: there is no token')
    const client = await begun()
    await engine.wait.completeToken(token, 1, { transaction: client })
    const second = engine.wait.completeToken(token, 2)
    const completed = others.map((other) => engine.wait.completeToken(other, 3))
    await Promise.all(completed)
    await client.query('ROLLBACK')
    expect((await second).success).toBe(true)
  })

  it('lets no other run wait for the begin of a wait, or for an end', async () => {
    const engine = await openEngine()
    const token = await engine.wait.createToken()
    const others = await Promise.all(Array.from({ length: OTHERS }, () => engine.wait.createToken()))
    const waiting = await engine.trigger(ask, token.id)
    while ((await engine.runs.retrieve(waiting.id)).status !== 'WAITING') await new Promise(setImmediate)
    const client = await begun()
    await engine.wait.completeToken(token, 'yes', { transaction: client })
    // Its end waits for the transaction, and so does the begin of the wait of the second one.
    const canceled = engine.runs.cancel(waiting.id)
    const second = await engine.trigger(ask, token.id)
    const runs = await Promise.all(others.map((other) => engine.trigger(ask, other.id)))
    await Promise.all(others.map((other) => engine.wait.completeToken(other, 'no')))
    for (const run of runs) expect(await run.result()).toBe('no')
    await client.query('COMMIT')
    await canceled
    expect(await second.result()).toBe('yes')
  })
})

describe('a transaction that has completed a token in time, while it is open after the deadline of that token', () => {
  const START = Date.UTC(2026, 0, 1)
  const DUE = START + 10
  const BY = 'by'

  /** A storage with a token that is completed in an open transaction, and others that are due. */
  async function begin(): Promise<{
    readonly storage: Storage
    readonly client: PostgresClient
    readonly others: readonly string[]
    readonly asked: readonly string[]
    readonly schema: string
  }> {
    const pool = testPool()
    const schema = await freshSchema(pool)
    const asked: string[] = []
    const counted: PostgresPool = {
      query: (text, values) => {
        // Others may be told meanwhile.
        if (!text.includes('pg_notify')) asked.push(text)
        return pool.query(text, values)
      },
      connect: () => pool.connect(),
    }
    const storage = namedStorage(postgresStorage({ pool: counted, schema, listen: false, pollMs: 20 }))
    await storage.open()
    onTestFinished(async () => {
      await storage.leave({ owner: BY, now: DUE })
      await pool.query(`DROP SCHEMA ${schema} CASCADE`)
      await pool.end()
    })
    const others = Array.from({ length: OTHERS }, (_, at) => `other ${at}`)
    for (const id of ['token', ...others]) {
      const tags = [id === 'token' ? 'late' : 'other']
      const record = manualToken(id, { createdAt: START, timeoutAt: DUE, tags })
      await storage.tokens.insert({ record, now: START, by: BY })
    }
    const client = await begun()
    await storage.tokens.settle({ id: 'token', outputJson: '1', by: BY, now: START, transaction: client })
    return { storage, client, others, asked, schema }
  }

  it.each([
    ['COMMIT', false],
    ['ROLLBACK', true],
  ])('lets a change of this token alone wait, until its %s', async (end, changed) => {
    const { storage, client, others } = await begin()
    const change = async (id: string) =>
      storage.tokens.change({ id, question: undefined, questionJson: '"q"', by: BY, now: START })
    const late = change('token')
    for (const id of others.slice(0, 3)) expect(await change(id)).toMatchObject({ changed: true })
    const answer = { id: 'other 0', outputJson: '1', by: BY, now: START, transaction: client }
    expect(await storage.tokens.settle(answer)).toMatchObject({ won: false, record: { status: 'WAITING' } })
    expect(await storage.tokens.settle({ ...answer, question: '"q"' })).toMatchObject({ won: true })
    await client.query(end)
    expect(await late).toMatchObject({ changed, settledNow: false })
  })

  it.each(['get', 'settle'] as const)(
    'lets a %s that finds a token due see a deadline that is being moved',
    async (call) => {
      const { storage, client, schema } = await begin()
      await client.query(`UPDATE ${schema}.tokens SET timeout_at = timeout_at + 9, due_at = due_at + 9`)
      const [id, request] = ['other 0', { outputJson: '1', by: BY, now: DUE }]
      const answer = (async () =>
        call === 'get' ? storage.tokens.get(id, DUE) : storage.tokens.settle({ id, ...request }))()
      const isBlocked = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
      while ((await client.query(isBlocked)).rows.length === 0);
      await client.query('COMMIT')
      const expected = call === 'get' ? { status: 'WAITING' } : { status: 'COMPLETED', completedAt: DUE }
      expect(await answer).toMatchObject({ settledNow: call === 'settle', record: expected })
    },
  )

  it('lets only reads of this token wait, and others of their turn be made once more at most', async () => {
    const { storage, client, others, asked } = await begin()
    const before = asked.length
    const late = storage.tokens.get('token', DUE)
    const read = await Promise.all(others.map(async (id) => storage.tokens.get(id, DUE)))
    expect(asked.length - before).toBeLessThanOrEqual(2)
    for (const one of read) expect(one?.record.status).toBe('TIMED_OUT')
    await client.query('COMMIT')
    expect((await late)?.record).toMatchObject({ status: 'COMPLETED', outputJson: '1' })
  })

  it('lets only lists that look at this token wait', async () => {
    const { storage, client } = await begin()
    const page = { limit: OTHERS }
    const late = storage.tokens.list({ kind: 'MANUAL', tags: ['late'] }, page, DUE)
    const { records } = await storage.tokens.list({ kind: 'MANUAL', tags: ['other'] }, page, DUE)
    expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['TIMED_OUT']))
    await client.query('COMMIT')
    expect((await late).records).toMatchObject([{ id: 'token', status: 'COMPLETED' }])
  })
})

describe('an engine whose run waits for what an open transaction has completed', () => {
  it('closes, and another engine has the run once that transaction is over', async () => {
    const pool = testPool(6)
    const schema = await freshSchema(pool)
    const open = (): Engine =>
      createEngine({
        tasks: [ask, busy],
        storage: postgresStorage({ pool, schema, pollMs: 20 }),
        leaseMs: 60_000,
      })
    onTestFinished(() => pool.end())
    await using other = open()
    const token = await other.wait.createToken({ timeout: '1h' })
    await other.close()
    const engine = open()
    const run = await engine.trigger(ask, token.id)
    for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
    const executing = await engine.trigger(busy, undefined)
    for await (const { isExecuting } of engine.runs.subscribeToRun(executing)) if (isExecuting) break
    const client = await begun()
    await engine.wait.completeToken(token, 'yes', { transaction: client })
    await engine.close()
    await using next = open()
    await next.ready()
    await client.query('COMMIT')
    expect((await next.runs.poll(run.id)).output).toBe('yes')
    expect((await next.runs.retrieve(run.id)).attemptCount).toBe(2)
    // A graceful end does not count as an interruption.
    expect((await next.runs.poll(executing.id)).attemptCount).toBe(2)
    const { rows } = await pool.query(`SELECT sum(interruptions)::int AS sum FROM ${schema}.runs`)
    expect(rows).toEqual([{ sum: 0 }])
  })
})

describe('a call that waits for an open transaction', () => {
  const SHORT_MS = 150

  it('rejects after the lock_timeout of the server, and says what to do', async () => {
    const engine = await openEngine(urlWithLockTimeout(SHORT_MS))
    const token = await engine.wait.createToken()
    const client = await begun()
    await engine.trigger(job, 1, { idempotencyKey: 'order-7', transaction: client })
    await engine.wait.completeToken(token, 1, { transaction: client })
    const refused = {
      code: 'ERR_STORAGE_UNAVAILABLE',
      message: expect.stringMatching(/raise lock_timeout$/) as string,
    }
    const second = expect(engine.trigger(job, 2, { idempotencyKey: 'order-7' })).rejects.toMatchObject(
      refused,
    )
    const completed = expect(engine.wait.completeToken(token, 2)).rejects.toMatchObject(refused)
    await byTask(engine, OTHERS)
    await second
    await completed
    await client.query('COMMIT')
  })

  it('rejects after it in a transaction of its own, too', async () => {
    const engine = await openEngine()
    const [client, other] = [await begun(), await begun()]
    await other.query(`SET LOCAL lock_timeout = ${SHORT_MS}`)
    await engine.trigger(job, 1, { idempotencyKey: 'order-7', transaction: client })
    await expect(
      engine.trigger(job, 2, { idempotencyKey: 'order-7', transaction: other }),
    ).rejects.toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE', cause: { code: '55P03' } })
    await client.query('COMMIT')
  })

  it('goes on when the server has crashed, and that transaction with it', async () => {
    await using server = await startPostgres()
    await using engine = createEngine({
      tasks: [job],
      storage: postgresStorage({ connectionString: server.url, pollMs: 20 }),
    })
    const [token, other] = [await engine.wait.createToken(), await engine.wait.createToken()]
    const client = await connectPostgres(server.url)
    await client.query('BEGIN')
    await engine.wait.completeToken(token, 1, { transaction: client })
    const second = engine.wait.completeToken(token, 2)
    await engine.wait.completeToken(other, 3)
    await server.restart('immediate')
    expect(await second).toEqual({ success: true, status: 'COMPLETED' })
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ output: 2 })
  })

  it('rejects when its engine closes, as does a call behind it', async () => {
    const engine = await openEngine()
    const token = await engine.wait.createToken()
    const client = await begun()
    await engine.wait.completeToken(token, 1, { transaction: client })
    const calls = [engine.wait.completeToken(token, 2), engine.wait.completeToken(token, 3)]
    const rejected = Promise.allSettled(calls)
    await byTask(engine, 1)
    await engine.close()
    for (const { status } of await rejected) expect(status).toBe('rejected')
    await client.query('COMMIT')
  })
})
