import { expect, it, onTestFinished } from 'vitest'
import { postgresStorage } from 'waitpoint/postgres'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { countedUrl } from './postgres/index-reads.ts'
import { freshSchema, type TestPool, testPool } from './postgres-schemas.ts'

const RUNS = ['a', 'b', 'c']
const now = 1_000
const by = 'one'

/** All calls of a turn are one statement; of their requests, those that are usual are done by one statement in it as well. */
it('does the usual requests of a turn together, and only the others one by one', async () => {
  const reader = testPool(1)
  const schema = await freshSchema(reader)
  const pool = testPool(2, { connectionString: countedUrl(schema), options: '-c track_functions=all' })
  onTestFinished(async () => {
    await reader.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await reader.end()
  })
  const storage = namedStorage(postgresStorage({ pool, schema }))
  await storage.open()
  await storage.tick({ owner: by, now, leaseUntil: now + 60_000, limit: 10 })
  const ofEach = <Answer>(call: (id: string) => Answer | PromiseLike<Answer>): Promise<Answer[]> =>
    Promise.all(RUNS.map(async (id) => call(id)))

  await ofEach((id) => storage.runs.insert({ record: queuedRun(id, { createdAt: now }), now, by }))
  const claim = {
    taskIds: ['task'],
    limit: 10,
    queueLimits: new Map(),
    maxInterruptions: 3,
    number: 1,
    by,
    now,
  }
  const { runs } = await storage.runs.claim(claim)
  expect(runs.map(({ id, status }) => [id, status])).toEqual(RUNS.map((id) => [id, 'EXECUTING']))

  const fenceOf = (id: string): { readonly runId: string; readonly epoch: number } => ({
    runId: id,
    epoch: 1,
  })
  await ofEach((id) => {
    const key = { scope: id, value: 'first' }
    const record = manualToken(`token ${id}`, { kind: 'SLEEP', createdAt: now, runId: id, key })
    return storage.tokens.insert({ record, now, by, fence: fenceOf(id) })
  })
  const awaited = await Promise.all([
    ...RUNS.map(async (id) => storage.tokens.await({ tokenId: `token ${id}`, ...fenceOf(id), by, now })),
    storage.tokens.await({ tokenId: 'unknown', ...fenceOf('a'), by, now }),
  ])
  expect(awaited.map(({ outcome }) => outcome)).toEqual([...RUNS.map(() => 'registered'), 'unknown'])

  const parked = await Promise.all([
    ...RUNS.map(async (id) => storage.runs.park({ id, epoch: 1, parks: 1, by, now })),
    storage.runs.park({ id: 'd', epoch: 1, parks: 1, by, now }),
  ])
  expect(parked.map((run) => run?.status)).toEqual([...RUNS.map(() => 'WAITING'), undefined])

  const settled = await Promise.all([
    ...RUNS.map(async (id) => {
      const completion = { id: `token ${id}`, outputJson: '1', by, now, resume: { ...fenceOf(id), parks: 1 } }
      return storage.tokens.settle(completion)
    }),
    storage.tokens.settle({ id: 'token a', outputJson: '2', by, now }),
  ])
  expect(settled.map((answer) => answer !== 'stale' && [answer?.won, answer?.resumed?.status])).toEqual([
    ...RUNS.map(() => [true, 'EXECUTING']),
    [false, undefined],
  ])

  await ofEach((id) => storage.runs.park({ id, epoch: 1, parks: 2, by, now }))
  const resumed = await Promise.all([
    ...RUNS.map(async (id) => storage.runs.resume({ id, epoch: 1, parks: 2, by, now, isHinted: id === 'a' })),
    storage.runs.resume({ id: 'd', epoch: 1, parks: 1, by, now }),
  ])
  expect(resumed).toEqual([
    ...RUNS.map((id) => ({
      outcome: 'resumed',
      record: expect.objectContaining({ id, status: 'EXECUTING' }) as unknown,
      ...(id === 'a' && { tokens: [expect.objectContaining({ id: 'token a', outputJson: '1' })] }),
    })),
    { outcome: 'stale' },
  ])

  const ended = await Promise.all(
    [...RUNS, 'd'].map(async (id) =>
      storage.runs.update({
        id,
        expected: { status: ['EXECUTING'], epoch: 1 },
        change: { status: 'COMPLETED', outputJson: '1', errorJson: undefined, finishedAt: now, slot: false },
        by,
        now,
      }),
    ),
  )
  expect(ended.map((answer) => answer?.record.status)).toEqual([...RUNS.map(() => 'COMPLETED'), undefined])

  await storage.leave({ owner: by, now })
  await pool.end()
  expect(await callsOf(reader, schema)).toEqual({
    await_token: 1,
    park_run: 1,
    resume_run: 1,
    settle_token: 1,
    end_run: 1,
    // Of the wait. An insert that is done by itself asks for it too.
    insert_token_batch: 1,
    await_batch: 1,
    park_batch: 2,
    resume_batch: 1,
    settle_batch: 1,
    end_batch: 1,
    start_runs: 1,
  })
})

/** How often each function was called that does one request of a turn, or many. Connections tell it when they end. */
async function callsOf(reader: TestPool, schema: string): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    const { rows } = await reader.query(
      `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1) AS open,
         (SELECT json_object_agg(funcname, calls) FROM pg_stat_user_functions WHERE schemaname = $1 AND
           (funcname ~ '_batch$' OR funcname IN ('start_runs', 'await_token', 'park_run', 'resume_run', 'settle_token', 'end_run', 'holds'))) AS calls`,
      [schema],
    )
    const [found] = rows as readonly { readonly open: number; readonly calls: Record<string, number> }[]
    if (found?.open === 0) return found.calls
    await new Promise(setImmediate)
  }
}

/** A join answers in an order of its own. */
it('answers each request for a queue of a turn with its own queue', async () => {
  const reader = testPool(1)
  const schema = await freshSchema(reader)
  onTestFinished(async () => {
    await reader.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await reader.end()
  })
  const storage = namedStorage(postgresStorage({ pool: testPool(2), schema }))
  await storage.open()
  const { queues } = storage
  for (const [at, name] of ['a', 'b', 'c'].entries()) await queues?.set({ name, limit: at + 1, now, by })
  const asked = ['c', 'none', 'a', 'unset', 'b', 'c']
  const answers = await Promise.all(asked.map(async (name) => queues?.get(name)))
  expect(answers.map((queue) => [queue?.name, queue?.limit])).toEqual([
    ['c', 3],
    ['none', undefined],
    ['a', 1],
    ['unset', undefined],
    ['b', 2],
    ['c', 3],
  ])
})
