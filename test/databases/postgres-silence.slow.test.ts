import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { readPostgresOptions } from '../../src/storage/postgres/options.ts'
import { postgresStorageOf } from '../../src/storage/postgres/postgres.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { rejection } from '../support/body-task.ts'
import { buildProgram, ended, startProgram } from './kill/killed-process.ts'
import { untilBlocked } from './postgres/blocked.ts'
import { connectPostgres, type PostgresClient, postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { liveOwners } from './postgres/leases.ts'
import { type Fate, Wire } from './postgres/wire.ts'
import { testPool } from './postgres-schemas.ts'

const ask = task({
  id: 'ask',
  run: async (token: string) => wait.forToken<string>(token).unwrap(),
})

/** Longer than a test: no lease is renewed, and none is lost. */
const leaseMs = 3_600_000
/** How long connections are silent before the server is asked, in tests. */
const listenCheckMs = 200
/** So many openings are tried at once. */
const AT_ONCE = 8

async function waiting(engine: Engine, run: string): Promise<void> {
  for (;;) {
    const { status } = await engine.runs.retrieve(run)
    if (status === 'WAITING') return
    await pauseReal(5)
  }
}

/** Backends of one application, by their process. */
async function backends(client: PostgresClient, application: string): Promise<readonly number[]> {
  const { rows } = await client.query<{ readonly pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE application_name = $1',
    [application],
  )
  return rows.map(({ pid }) => pid)
}

function named(url: string, application: string): string {
  const named = new URL(url)
  named.searchParams.set('application_name', application)
  return String(named)
}

/** Resolves when connections were looked at so often. */
async function untilLooked(client: PostgresClient, application: string, times: number): Promise<void> {
  const seen = new Set<unknown>()
  while (seen.size < times) {
    const { rows } = await client.query<{ readonly at: string }>(
      `SELECT query_start::text AS at FROM pg_stat_activity WHERE application_name = $1 AND query LIKE '%AS finding%'`,
      [application],
    )
    for (const { at } of rows) seen.add(at)
    await pauseReal(5)
  }
}

describe('connections that fall silent', () => {
  it('are replaced while the server can be reached over new ones, and leave no backends behind', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    await using direct = await connectPostgres()
    const connectionString = named(wire.url, schema.schema)
    const storage = postgresStorage({ connectionString, schema: schema.schema, listenCheckMs })
    await using engine = createEngine({ tasks: [ask], storage, leaseMs })
    const token = await engine.wait.createToken()
    const run = await engine.trigger(ask, token.id)
    await waiting(engine, run.id)
    const silent = await backends(direct, schema.schema)
    wire.silence()
    const completed = engine.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
    expect(await completed).toMatchObject({ success: true })
    while ((await backends(direct, schema.schema)).some((pid) => silent.includes(pid))) await pauseReal(5)
  })

  it.each(['question', 'answer'] as const)(
    'lose one %s, and the call is made again with one effect',
    async (lost) => {
      await using schema = new FreshSchema()
      let fate: Fate = 'passes'
      await using wire = await Wire.to(postgresUrl(), {
        fate: (sent) => {
          if (sent !== lost) return 'passes'
          const now = fate
          fate = 'passes'
          return now
        },
      })
      const storage = postgresStorage({ connectionString: wire.url, schema: schema.schema, listenCheckMs })
      await using engine = createEngine({ tasks: [ask], storage, leaseMs })
      const token = await engine.wait.createToken()
      fate = 'falls silent'
      const inserted = await engine.trigger(ask, token.id, { idempotencyKey: 'one' })
      expect(inserted.isCached).toBe(false)
      await waiting(engine, inserted.id)
      fate = 'falls silent'
      expect(await engine.wait.completeToken(token, 'mine')).toMatchObject({ success: true })
      expect(await inserted.result()).toBe('mine')
      expect(wire.silences).toBe(2)
    },
  )

  it('are told from a statement that works for long, which is not cut', async () => {
    await using schema = new FreshSchema()
    await using direct = await connectPostgres()
    await using other = await connectPostgres()
    const connectionString = named(postgresUrl(), schema.schema)
    const storage = postgresStorage({ connectionString, schema: schema.schema, listenCheckMs: 50 })
    await storage.open()
    await other.query(`BEGIN; LOCK TABLE ${schema.schema}.runs`)
    const listed = storage.runs.list({}, { limit: 1 })
    await untilBlocked(schema.schema)
    const blocked = async (): Promise<unknown> => {
      const { rows } = await direct.query(
        `SELECT pid, query_start::text FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
        [schema.schema],
      )
      return rows
    }
    const before = await blocked()
    await untilLooked(direct, schema.schema, 4)
    expect(await blocked()).toEqual(before)
    await other.query('COMMIT')
    expect((await listed).records).toEqual([])
    await storage.leave({ owner: 'me', now: 1 })
  })

  it('hold up no opening for ever, whichever of its questions or answers is lost', async () => {
    let sent = 0
    await openAndList(() => {
      sent += 1
      return 'passes'
    })
    let next = 0
    const someAfterEachOther = async (): Promise<void> => {
      while (next < sent) await openAndList(losing(next++))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, someAfterEachOther))
  })
})

/** What is lost is one thing that is sent: the connection falls silent with it. */
function losing(one: number): () => Fate {
  let sent = -1
  return () => ((sent += 1) === one ? 'falls silent' : 'passes')
}

/** Opens a storage, and tries once more if that fails. */
async function openAndList(fate: () => Fate): Promise<void> {
  await using schema = new FreshSchema()
  await using wire = await Wire.to(postgresUrl(), { fate })
  const connectionString = wire.url
  const storage = postgresStorage({ connectionString, schema: schema.schema, listenCheckMs })
  await Promise.resolve(storage.open()).catch(() => storage.open())
  expect((await storage.runs.list({}, { limit: 1 })).records).toEqual([])
  await storage.leave({ owner: 'me', now: 1 })
}

describe('close', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('closing')))
  afterAll(() => rmSync(program, { force: true }))

  it('ends although no connection says anything any more, and then so does the process', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    const child = startProgram([program, schema.place(wire.url)])
    const printed = ended(child)
    if (child.stdout !== null) await once(child.stdout, 'data')
    wire.silence({ isForAll: true })
    child.stdin?.write('close')
    expect(await printed).toBe('readyclosed')
    // Others take it over when it lapses.
    expect(await liveOwners(schema.place())).toBe(1)
  })

  it('rejects what is still asked, and asks nothing again', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    const source = readPostgresOptions({ connectionString: wire.url, schema: schema.schema })
    const storage = postgresStorageOf({ ...source, leaveMs: 200 })
    const engine = createEngine({ tasks: [ask], storage, leaseMs })
    await engine.ready()
    wire.silence({ isForAll: true })
    const asked = [1, 2, 3].map((n) => rejection(engine.trigger(ask, `token ${n}`)))
    await engine.close()
    for (const error of await Promise.all(asked))
      expect(error).toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE' })
    // A new owner begins anew.
    await using again = createEngine({ tasks: [ask], storage: postgresStorage(schema), leaseMs })
    expect((await again.runs.list()).data).toEqual([])
  })

  it('ends although a pool of the caller says nothing any more', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    const pool = testPool(6, { connectionString: wire.url })
    pool.on('error', () => undefined)
    const source = readPostgresOptions({ pool, schema: schema.schema })
    const engine = createEngine({
      tasks: [ask],
      storage: postgresStorageOf({ ...source, leaveMs: 200 }),
      leaseMs,
    })
    await engine.ready()
    wire.silence({ isForAll: true })
    const asked = rejection(engine.trigger(ask, 'token'))
    await engine.close()
    expect(await asked).toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE' })
    wire.cut()
    await pool.end()
  })

  it('leaves a storage that another engine may open later', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl())
    const source = readPostgresOptions({ connectionString: wire.url, schema: schema.schema, listenCheckMs })
    const storage = postgresStorageOf({ ...source, leaveMs: 200 })
    const first = createEngine({ tasks: [ask], storage, leaseMs })
    await first.ready()
    wire.silence()
    await first.close()
    await using second = createEngine({ tasks: [ask], storage, leaseMs })
    const token = await second.wait.createToken()
    const run = await second.trigger(ask, token.id)
    await second.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('gives the lease back to a server that is slow', async () => {
    await using schema = new FreshSchema()
    await using wire = await Wire.to(postgresUrl(), { lagMs: () => 10 })
    await using other = await connectPostgres()
    const storage = postgresStorage({ connectionString: wire.url, schema: schema.schema })
    const engine = createEngine({ tasks: [ask], storage, leaseMs })
    await engine.ready()
    expect(await liveOwners(schema.place())).toBe(1)
    await other.query(`BEGIN; LOCK TABLE ${schema.schema}.owners`)
    const closed = engine.close()
    await untilBlocked(schema.schema)
    await other.query('COMMIT')
    await closed
    expect(await liveOwners(schema.place())).toBe(0)
  })
})
