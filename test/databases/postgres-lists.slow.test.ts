import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Storage } from 'waitpoint'
import type { RunFilter, TokenFilter } from 'waitpoint/storage'
import { postgresStorage } from 'waitpoint/postgres'
import { namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken } from '../../src/testing/conformance/sample-records.ts'
import { ID_DIGITS } from '../../src/primitives/id.ts'
import { idRange } from '../../src/storage/made-id.ts'
import { functionSql } from '../../src/storage/postgres/schema.ts'
import type { PostgresClient } from './postgres/client.ts'
import { connectPostgres } from './postgres/client.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const ROWS = 100_000
/** A page is ten rows and the one that says that there are more. */
const LIMIT = 10
/** Pages that a list may read: some for each status and task there is, and none for what there was; an index has 800. */
const MOST_READ = 450

/** Runs of eight tasks, completed, half of them children; the oldest of all are the only ones of a ninth and of their root, some of them failed, and tagged so. */
const RUNS = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, parent_id, tags, tag_list, queue, created_at, updated_at, lane, held, reserved, ended_at)
  SELECT 'run_' || lpad(n::text, 8, '0'), n, CASE WHEN n <= 9 THEN 'rare' ELSE 'task' || n % 8 END,
    CASE WHEN n <= 5 THEN 'FAILED' ELSE 'COMPLETED' END, 1, 1, 0, 1, 0, 0,
    CASE WHEN n <= 9 THEN 'rare' ELSE 'run' END, CASE WHEN n <= 9 OR n % 2 = 0 THEN 'parent' END, '["all"]',
    CASE WHEN n <= 5 THEN ARRAY['all', 'rare'] ELSE ARRAY['all'] END, 'queue', n, n, 'lane', 0, 0, n
  FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO $s.run_tags SELECT unnest(tag_list), id FROM $s.runs`

const TOKENS = `INSERT INTO $s.tokens (id, seq, kind, status, tags, tag_list, key_scope, key_value, created_at, completed_at, ended_at)
  SELECT 'waitpoint_' || lpad(n::text, 8, '0'), n, 'MANUAL', CASE WHEN n <= 5 THEN 'TIMED_OUT' ELSE 'COMPLETED' END,
    '["all"]', CASE WHEN n <= 5 THEN ARRAY['all', 'rare'] ELSE ARRAY['all'] END, 'global', 'key' || n / 3, n, n, n
  FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO $s.token_tags SELECT unnest(tag_list), id FROM $s.tokens`

/** How many pages of tables and indexes a list reads, the plans of all that it asks included. */
async function readBy(client: PostgresClient, list: string, request: object): Promise<number> {
  const values = [JSON.stringify([{ ...request, count: LIMIT + 1 }])]
  // What the connection learns of the schema when it asks for the first time.
  await client.query(list, values)
  const { rows } = await client.query<{ readonly 'QUERY PLAN': readonly [Explained] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${list}`,
    values,
  )
  const [explained] = rows[0]?.['QUERY PLAN'] ?? []
  if (explained === undefined) throw new Error('Cannot explain a list: the server answered nothing')
  const { Plan: plan } = explained
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

/** The end of an id of an engine. */
const MADE = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
  .map((place) => `substr('${ID_DIGITS}', ((1000::bigint * n >> ${5 * place}) & 31)::int + 1, 1)`)
  .concat(`'0000000000000000'`)
  .join(' || ')

/** Runs and tokens with the ids of engines: one every second. */
const DATED = `INSERT INTO $s.runs (id, seq, task_id, status, attempt, policy_attempt, interruptions, epoch, slot,
    returned, root_id, queue, created_at, updated_at, lane, held, reserved, ended_at)
  SELECT 'run_' || ${MADE}, n, 'task', 'COMPLETED', 1, 1, 0, 1, 0, 0, 'run', 'queue',
    1000.0 * n, 1000.0 * n, 'lane', 0, 0, n FROM generate_series(1, ${ROWS}) AS n;
  INSERT INTO $s.tokens (id, seq, kind, status, created_at, completed_at, ended_at)
  SELECT 'waitpoint_' || ${MADE}, n, 'MANUAL', 'COMPLETED', 1000.0 * n, 1000.0 * n, n
  FROM generate_series(1, ${ROWS}) AS n`

/** Two of them, among the oldest. */
const BOUNDS = { from: 5_000, to: 6_500 } as const

interface Explained {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
}

describe('lists among many rows', () => {
  const pool = testPool()
  let schema = ''
  let storage: Storage
  let client: PostgresClient & AsyncDisposable

  beforeAll(async () => {
    schema = await freshSchema(pool)
    storage = postgresStorage({ pool, schema })
    await storage.open()
    client = await connectPostgres()
    const tables = ['runs', 'run_tags', 'tokens', 'token_tags'].map((table) => `${schema}.${table}`)
    // It would come after a while, between two lists or in the middle of one: what a list reads would depend on when.
    for (const table of tables) await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
    for (const sql of [RUNS, TOKENS]) await client.query(sql.replaceAll('$s', schema))
    for (const table of tables) await client.query(`ANALYZE ${table}`)
  }, 600_000)

  afterAll(async () => {
    await client[Symbol.asyncDispose]()
    await storage.leave({ owner: 'nobody', now: 0 })
    await pool.end()
  })

  it.each<[string, object, RunFilter, number]>([
    ['all', {}, {}, LIMIT],
    ['by a rare status', { statuses: ['FAILED'] }, { status: ['FAILED'] }, 5],
    ['by a common status', { statuses: ['COMPLETED'] }, { status: ['COMPLETED'] }, LIMIT],
    ['by several statuses', { statuses: ['FAILED', 'CRASHED'] }, { status: ['FAILED', 'CRASHED'] }, 5],
    ['by a rare task', { task_ids: ['rare'] }, { taskIds: ['rare'] }, 9],
    [
      'by a rare task and a common status',
      { task_ids: ['rare'], statuses: ['COMPLETED'] },
      { taskIds: ['rare'], status: ['COMPLETED'] },
      4,
    ],
    ['by a common task', { task_ids: ['task1'] }, { taskIds: ['task1'] }, LIMIT],
    [
      'by a common task and a status it never had',
      { task_ids: ['task1'], statuses: ['FAILED'] },
      { taskIds: ['task1'], status: ['FAILED'] },
      0,
    ],
    ['by no common task', { not_task_ids: tasks() }, { notTaskIds: tasks() }, 9],
    ['by a rare tag', { tags: ['rare'] }, { tags: ['rare'] }, 5],
    ['by a common tag', { tags: ['all'] }, { tags: ['all'] }, LIMIT],
    ['by two tags', { tags: ['all', 'rare'] }, { tags: ['all', 'rare'] }, LIMIT],
    ['by a tag without records', { tags: ['none'] }, { tags: ['none'] }, 0],
    ['below a rare root', { root: 'rare' }, { root: 'rare' }, 9],
    ['below a common root', { root: 'run' }, { root: 'run' }, LIMIT],
    ['below a root without children', { root: 'none' }, { root: 'none' }, 0],
    ['of roots', { is_root: true }, { isRoot: true }, LIMIT],
  ])('of runs, %s, read a few of an index', async (_what, request, filter, found) => {
    const read = await readBy(client, functionSql(schema, 'list_runs'), request)
    expect(read).toBeLessThan(MOST_READ)
    const { records } = await storage.runs.list(filter, { limit: LIMIT })
    expect(records).toHaveLength(found)
  })

  it.each<[string, object, Partial<TokenFilter>, number]>([
    ['all', {}, {}, LIMIT],
    ['by a rare status', { statuses: ['TIMED_OUT'] }, { status: ['TIMED_OUT'] }, 5],
    ['by a status that none has', { statuses: ['WAITING'] }, { status: ['WAITING'] }, 0],
    ['by a common status', { statuses: ['COMPLETED'] }, { status: ['COMPLETED'] }, LIMIT],
    ['by a rare tag', { tags: ['rare'] }, { tags: ['rare'] }, 5],
    ['by a common tag', { tags: ['all'] }, { tags: ['all'] }, LIMIT],
    ['by a tag without records', { tags: ['none'] }, { tags: ['none'] }, 0],
    ['by a key', { key_scope: 'global', key_value: 'key7' }, { key: { scope: 'global', value: 'key7' } }, 3],
  ])('of tokens, %s, read a few of an index', async (_what, request, filter, found) => {
    const asked = { kind: 'MANUAL', now: 1, ...request }
    const read = await readBy(client, functionSql(schema, 'list_tokens'), asked)
    expect(read).toBeLessThan(MOST_READ)
    const { records } = await storage.tokens.list({ kind: 'MANUAL', ...filter }, { limit: LIMIT }, 1)
    expect(records).toHaveLength(found)
  })

  it.each([
    ['status', { statuses: ['COMPLETED'] }],
    ['task', { task_ids: ['task1'] }],
    ['tag', { tags: ['all'] }],
    ['root', { root: 'run' }],
    ['nothing', {}],
  ])('in the middle, by %s, read no more than at either end', async (_what, request) => {
    for (const range of [{ older: 'run_00050000' }, { newer: 'run_00050000' }])
      expect(await readBy(client, functionSql(schema, 'list_runs'), { ...request, ...range })).toBeLessThan(
        MOST_READ,
      )
  })

  it('go on from page to page, to the end and back', async () => {
    const filter = { tags: ['rare', 'none'], status: ['FAILED', 'COMPLETED'] } as const
    const first = await storage.runs.list(filter, { limit: 3 })
    const second = await storage.runs.list(filter, { limit: 3, after: first.next })
    const back = await storage.runs.list(filter, { limit: 3, before: second.previous })
    expect([first, second].map(({ records }) => records.length)).toEqual([3, 2])
    expect(second.next).toBeUndefined()
    expect(back.records).toEqual(first.records)
  })
})

describe('lists bounded in time and pruning among many rows', () => {
  const pool = testPool()
  let schema = ''
  let storage: Storage
  let client: PostgresClient & AsyncDisposable

  beforeAll(async () => {
    schema = await freshSchema(pool)
    storage = postgresStorage({ pool, schema })
    await storage.open()
    client = await connectPostgres()
    const tables = ['runs', 'tokens'].map((table) => `${schema}.${table}`)
    for (const table of tables) await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
    await client.query(DATED.replaceAll('$s', schema))
    for (const table of tables) await client.query(`VACUUM ANALYZE ${table}`)
  }, 600_000)

  afterAll(async () => {
    await client[Symbol.asyncDispose]()
    await storage.leave({ owner: 'nobody', now: 0 })
    await pool.end()
  })

  it.each([
    ['nothing else', {}],
    ['status', { statuses: ['COMPLETED'] }],
    ['task', { task_ids: ['task'] }],
    ['a page further on', { older: 'run_1' }],
    ['a page back', { newer: 'run_0' }],
  ])('read a few of an index for runs, by %s', async (_what, request) => {
    const read = await readBy(client, functionSql(schema, 'list_runs'), {
      ...request,
      ...idRange('runs', BOUNDS),
    })
    expect(read).toBeLessThan(MOST_READ)
    expect((await storage.runs.list(BOUNDS, { limit: LIMIT })).records.map((run) => run.createdAt)).toEqual([
      6_000, 5_000,
    ])
  })

  it.each([
    ['nothing else', {}],
    ['status', { statuses: ['COMPLETED'] }],
  ])('read a few of an index for tokens, by %s', async (_what, request) => {
    const asked = { kind: 'MANUAL', now: 1, ...request, ...idRange('tokens', BOUNDS) }
    expect(await readBy(client, functionSql(schema, 'list_tokens'), asked)).toBeLessThan(MOST_READ)
    const { records } = await storage.tokens.list({ kind: 'MANUAL', ...BOUNDS }, { limit: LIMIT }, 1)
    expect(records.map((token) => token.createdAt)).toEqual([6_000, 5_000])
  })

  it('read no more for a batch that is pruned by number than it drops, once all have been counted', async () => {
    const request = { before: 0, keep: 150_000, most: 2, now: 1_000_000_000 }
    expect(await readBy(client, functionSql(schema, 'prune'), request)).toBeLessThan(MOST_READ)
  })
})

describe('a list among more tokens past their deadline than one may settle', () => {
  it('settles some, and those on its page, and is right', async () => {
    const pool = testPool()
    const schema = await freshSchema(pool)
    const storage = namedStorage(postgresStorage({ pool, schema }))
    await storage.open()
    const ids = Array.from({ length: 1_200 }, (_, at) => `waitpoint_${String(at).padStart(5, '0')}`)
    const insert = (id: string, at: number): unknown =>
      storage.tokens.insert({
        record: manualToken(id, { createdAt: 0, timeoutAt: 10 + at }),
        now: 0,
        by: 'a',
      })
    await Promise.all(ids.map(insert))
    const filter = { kind: 'MANUAL', status: ['TIMED_OUT'] } as const
    const page = await storage.tokens.list(filter, { limit: 5 }, 5_000)
    expect(page.records.map(({ id }) => id)).toEqual(ids.slice(-5).reverse())
    expect(page.records.map(({ status }) => status)).toEqual(page.records.map(() => 'TIMED_OUT'))
    expect(page.settled.length).toBeLessThan(600)
    const open = await storage.tokens.list({ ...filter, status: ['WAITING'] }, { limit: 5 }, 5_000)
    expect(open.records).toEqual([])
    await storage.leave({ owner: 'nobody', now: 0 })
    await pool.end()
  })
})

function tasks(): string[] {
  return Array.from({ length: 8 }, (_, at) => `task${at}`)
}
