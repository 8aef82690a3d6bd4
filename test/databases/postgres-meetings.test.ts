import { afterAll, expect, it, onTestFinished } from 'vitest'
import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { madeId, RecordNames, namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { functionSql } from '../../src/storage/postgres/schema.ts'
import { connectPostgres, type PostgresClient, postgresUrl } from './postgres/client.ts'
import { freshSchema, patientPool, testPool } from './postgres-schemas.ts'

const now = 1_000
const by = 'one'
const CLAIM = { taskIds: ['task'], limit: 10, queueLimits: new Map<string, number>(), maxInterruptions: 3 }

const pool = testPool(10)
afterAll(() => pool.end())

/** A storage with some runs that are executed. Its turns wait for a lock as long as it takes. */
async function executing(...ids: readonly string[]): Promise<{ schema: string; storage: Storage }> {
  const schema = await freshSchema(pool)
  const own = patientPool(postgresUrl())
  const names = new RecordNames()
  // Some are asked for before they are there.
  for (const id of ['a', 'b', 'c'])
    names.add('tokens.insert', [{ record: manualToken(id, { createdAt: now }) }])
  const storage = namedStorage(postgresStorage({ pool: own, schema, listen: false }), names)
  await storage.open()
  onTestFinished(async () => {
    await storage.leave({ owner: by, now })
    await own[Symbol.asyncDispose]()
    await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  })
  await storage.tick({ owner: by, now, leaseUntil: now + 60_000, limit: 10 })
  for (const id of ids) await storage.runs.insert({ record: queuedRun(id, { createdAt: now }), now, by })
  await storage.runs.claim({ ...CLAIM, number: 1, by, now })
  return { schema, storage }
}

function fenceOf(runId: string): { readonly runId: string; readonly epoch: number } {
  return { runId, epoch: 1 }
}

async function end(storage: Storage, id: string, epoch: number = 1): Promise<unknown> {
  return storage.runs.update({
    id,
    expected: { status: ['EXECUTING'], epoch },
    change: { status: 'COMPLETED', outputJson: '1', errorJson: undefined, finishedAt: now, slot: false },
    by,
    now,
  })
}

const settle = async (storage: Storage, id: string): Promise<unknown> =>
  storage.tokens.settle({ id, outputJson: '1', by, now })

const create = async (storage: Storage, id: string): Promise<unknown> =>
  storage.tokens.insert({ record: manualToken(id, { createdAt: now }), now, by })

/** A transaction that is open until it is committed. */
class OpenTransaction {
  readonly #client: PostgresClient

  constructor(client: PostgresClient) {
    this.#client = client
  }

  /** Resolves with the number of the process that waits for it, once there is one. */
  async untilWaitedFor(): Promise<number> {
    const { rows } = await this.#client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid')
    return untilBlockedBy(rows[0]?.pid ?? 0)
  }

  async commit(): Promise<void> {
    await this.#client.query('COMMIT')
  }
}

async function untilBlockedBy(pid: number): Promise<number> {
  for (;;) {
    const sql = `SELECT pid FROM pg_stat_activity WHERE ${pid} = ANY (pg_blocking_pids(pid))`
    const [waiter] = (await pool.query(sql)).rows as readonly { readonly pid: number }[]
    if (waiter !== undefined) return waiter.pid
    await pauseReal(5)
  }
}

async function begun(text: string, values: readonly unknown[] = []): Promise<OpenTransaction> {
  const client = await connectPostgres()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  await client.query(text, values)
  return new OpenTransaction(client)
}

const locked = async (schema: string, token: string): Promise<OpenTransaction> =>
  begun(`SELECT 1 FROM ${schema}.tokens WHERE id = $1 FOR UPDATE`, [madeId('waitpoint', token, now)])

it('the end of a run is told to the run that waits for it, beside an end that comes too late', async () => {
  const { storage } = await executing('a', 'child', 'parent')
  await storage.tokens.await({ tokenId: 'run:child', ...fenceOf('parent'), by, now })
  expect(await Promise.all([end(storage, 'a', 0), end(storage, 'child')])).toMatchObject([
    undefined,
    { record: { id: 'child' }, ready: [{ runId: 'parent', tokenId: 'run:child', owner: by }] },
  ])
})

it('of two inserts in a turn with a key of the run itself, the second is answered with the first', async () => {
  const { storage } = await executing('r')
  const insert = async (id: string): Promise<unknown> => {
    const key = { scope: 'r', value: 'first' }
    const record = manualToken(id, { kind: 'SLEEP', createdAt: now, runId: 'r', key })
    return storage.tokens.insert({ record, fence: fenceOf('r'), now, by })
  }
  expect(await Promise.all([insert('t'), insert('u')])).toMatchObject([
    { record: { id: 't' }, isCached: false },
    { record: { id: 't' }, isCached: true },
  ])
})

it('a token that is created while a turn takes its locks is completed with the waits for it', async () => {
  const { schema, storage } = await executing('r')
  await create(storage, 'a')
  const first = await locked(schema, 'a')
  const settled = Promise.all([settle(storage, 'a'), settle(storage, 'b')])
  await first.untilWaitedFor()
  await create(storage, 'b')
  const request = {
    token_id: madeId('waitpoint', 'b', now),
    run_id: madeId('run', 'r', now),
    epoch: 1,
    by_owner: by,
    now,
    place: 1,
    call: 'other',
  }
  const wait = await begun(functionSql(schema, 'await_tokens'), [JSON.stringify([request])])
  await first.commit()
  await wait.untilWaitedFor()
  await wait.commit()
  expect(await settled).toMatchObject([{ won: true }, { won: true, ready: [{ runId: 'r' }] }])
})

it('a token that is created while a turn takes its locks is locked by the wait for it', async () => {
  const { schema, storage } = await executing('r')
  await create(storage, 'a')
  const first = await locked(schema, 'a')
  const awaited = Promise.all(
    ['a', 'b', 'c'].map(async (tokenId) => storage.tokens.await({ tokenId, ...fenceOf('r'), by, now })),
  )
  await first.untilWaitedFor()
  await create(storage, 'b')
  await storage.tokens.insert({ record: manualToken('c', { createdAt: now, timeoutAt: now }), now, by })
  const last = await locked(schema, 'c')
  await first.commit()
  const turn = await last.untilWaitedFor()
  // The wait for b is not committed yet.
  const settled = settle(storage, 'b')
  await Promise.race([settled, untilBlockedBy(turn)])
  await last.commit()
  expect(await awaited).toMatchObject([
    { outcome: 'registered' },
    { outcome: 'registered' },
    { outcome: 'settled' },
  ])
  expect(await settled).toMatchObject({ won: true, ready: [{ runId: 'r' }] })
})

it('a run without a living owner that is locked keeps no others of its turn from being parked', async () => {
  const { schema, storage } = await executing('c')
  await storage.tick({ owner: 'two', now, leaseUntil: now + 10, limit: 10 })
  await storage.runs.insert({ record: queuedRun('b', { createdAt: now }), now, by })
  await storage.runs.claim({ ...CLAIM, number: 1, by: 'two', now })
  await storage.tick({ owner: by, now: now + 20, leaseUntil: now + 60_000, limit: 10 })
  const holder = await begun(
    `SELECT 1 FROM ${schema}.runs WHERE id = '${madeId('run', 'b', now)}' FOR UPDATE`,
  )
  const orphan = storage.runs.park({ id: 'b', epoch: 1, parks: 1, by: 'two', now })
  const other = storage.runs.park({ id: 'c', epoch: 1, parks: 1, by, now })
  // It comes first in the order of locks: a turn that has locked the other one may not wait for it.
  expect(await other).toMatchObject({ status: 'WAITING' })
  await holder.commit()
  expect(await orphan).toMatchObject({ status: 'WAITING' })
})

/** Ends when no transaction holds it. */
const LOCK = 'pg_advisory_xact_lock(4711)'

/** In a function of the schema all calls wait from here on, until the transaction that is answered is over. `body` calls `now_…`, which does not. */
async function withSlow(
  schema: string,
  { name, head, body }: Readonly<Record<'name' | 'head' | 'body', string>>,
): Promise<OpenTransaction> {
  await pool.query(`ALTER FUNCTION ${schema}.${name} RENAME TO now_${name}`)
  await pool.query(`CREATE FUNCTION ${schema}.${name}${head} LANGUAGE plpgsql AS $$ ${body} $$`)
  return begun(`SELECT ${LOCK}`)
}

it('a list of tokens is that of one instant, whatever is written while it is made', async () => {
  const { schema, storage } = await executing('r')
  await create(storage, 'a')
  const slow = await withSlow(schema, {
    name: 'token_page',
    head: '(q record, is_settled boolean) RETURNS text[] STABLE',
    body: `DECLARE ids text[] := ${schema}.now_token_page(q, is_settled); BEGIN PERFORM ${LOCK}; RETURN ids; END`,
  })
  const listed = Promise.resolve(storage.tokens.list({ kind: 'MANUAL' }, { limit: 9 }, now))
  await slow.untilWaitedFor()
  await create(storage, 'b')
  await settle(storage, 'a')
  await slow.commit()
  expect((await listed).records.map(({ id, status }) => [id, status])).toEqual([['a', 'WAITING']])
})

it('a token and what waits for it are those of one instant', async () => {
  const { schema, storage } = await executing('r')
  await create(storage, 'a')
  await storage.tokens.await({ tokenId: 'a', ...fenceOf('r'), by, now })
  const slow = await withSlow(schema, {
    name: 'settle_due',
    head: `(INOUT t ${schema}.tokens, at float8, by_call text, is_again boolean, OUT now_settled boolean, OUT ready json)`,
    body: `DECLARE due record; BEGIN PERFORM ${LOCK};
      SELECT * INTO due FROM ${schema}.now_settle_due(t, at, by_call, is_again);
      t := due.t; now_settled := due.now_settled; ready := due.ready; END`,
  })
  const read = Promise.resolve(storage.tokens.get('a', now, { waiters: 9 }))
  await slow.untilWaitedFor()
  // By another process: this one asks for a token once at a time.
  await settle(postgresStorage({ pool, schema, listen: false }), madeId('waitpoint', 'a', now))
  await slow.commit()
  expect(await read).toMatchObject({ record: { status: 'WAITING' }, waiters: ['r'] })
})
