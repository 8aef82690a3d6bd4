import { describe, expect, it } from 'vitest'
import type { RunFilter, TokenFilter } from '../../../src/contract/storage.ts'
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { bindingOf, type SqliteHandle } from '../../../src/storage/sqlite/handle.ts'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { manualToken, queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { openDriver } from '../../databases/drivers.ts'

const PAGES = [{ limit: 10 }, { limit: 10, after: 'm' }, { limit: 10, before: 'm' }] as const
const BY = { now: 5, by: 'a' } as const

/** How SQLite goes about every read of these tables that was asked for: one line for each step. */
async function planOf(
  tables: RegExp,
  ask: (storage: ReturnType<typeof sqliteStorage>) => Promise<unknown>,
): Promise<readonly string[]> {
  const handle = openDriver(':memory:')
  const asked = new Set<string>()
  const storage = sqliteStorage({
    exec: (sql) => handle.exec(sql),
    prepare(sql) {
      if (/^(SELECT|WITH)/.test(sql) && tables.test(sql)) asked.add(sql)
      return handle.prepare(sql)
    },
    close: () => handle.close(),
  })
  await storage.open()
  asked.clear()
  await ask(storage)
  const steps = [...asked].flatMap((sql) => explain(handle, sql))
  handle.close()
  return steps
}

function explain(handle: SqliteHandle, sql: string): readonly string[] {
  const database = new SqliteDatabase(handle, bindingOf(handle))
  const values = [...sql.matchAll(/\?/g)].map(() => null)
  return database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail))
}

/** True for a step that scans records outside of the request, or sorts its records afterwards. */
function isSlow(step: string): boolean {
  return /^SCAN (runs|tokens|run_tags|token_tags)\b/.test(step) || /TEMP B-TREE/.test(step)
}

const runFilters: Readonly<Record<string, RunFilter>> = {
  'by status': { status: ['FAILED'] },
  'by several statuses': { status: ['QUEUED', 'EXECUTING'] },
  'by tag': { tags: ['a', 'b'] },
  'by task': { taskIds: ['task', 'other'] },
  'without some tasks': { notTaskIds: ['other'] },
  'by status, without some tasks': { status: ['QUEUED'], notTaskIds: ['task'] },
  'by everything': { status: ['FAILED'], tags: ['a'], taskIds: ['task'], from: 1, to: 9 },
}

const tokenFilters: Readonly<Record<string, TokenFilter>> = {
  unfiltered: { kind: 'MANUAL' },
  'by status': { kind: 'MANUAL', status: ['WAITING'] },
  'by several statuses': { kind: 'MANUAL', status: ['WAITING', 'TIMED_OUT'] },
  'by tag': { kind: 'MANUAL', tags: ['a', 'b'] },
  'by key': { kind: 'MANUAL', key: { scope: 'tokens', value: 'k' } },
  'by everything': {
    kind: 'MANUAL',
    status: ['WAITING'],
    tags: ['a'],
    key: { scope: 'tokens', value: 'k' },
    from: 1,
    to: 9,
  },
}

describe('listRuns', () => {
  it.each(Object.entries(runFilters))('%s reads what it answers from an index', async (_what, filter) => {
    const steps = await planOf(/\bruns\b/, async ({ runs }) => {
      await runs.insert({ record: queuedRun('r', { createdAt: 5, tags: ['a'] }), ...BY })
      for (const page of PAGES) await runs.list(filter, page)
    })
    expect(steps.length).toBeGreaterThan(0)
    expect(steps.filter(isSlow)).toEqual([])
  })

  it('without a filter goes along the ids, as far as the page', async () => {
    const steps = await planOf(/\bruns\b/, async ({ runs }) => {
      for (const page of PAGES) await runs.list({}, page)
    })
    expect(new Set(steps)).toEqual(
      new Set([
        'SCAN runs USING INDEX sqlite_autoindex_runs_1',
        'SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id<?)',
        'SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id>?)',
      ]),
    )
  })

  it('finds a run by the tags it has now', async () => {
    const handle = openDriver(':memory:')
    const storage = sqliteStorage(handle)
    await storage.open()
    const { runs } = storage
    await runs.insert({ record: queuedRun('r', { createdAt: 5, tags: ['a', 'b', 'a'] }), ...BY })
    const change = { tags: ['b', 'c'] }
    await runs.update({ id: 'r', expected: { status: ['QUEUED'] }, change, ...BY })
    const found = async (...tags: readonly string[]): Promise<number> =>
      (await runs.list({ tags }, { limit: 10 })).records.length
    expect([await found('a'), await found('b'), await found('c'), await found('b', 'c')]).toEqual([
      0, 1, 1, 1,
    ])
    handle.close()
  })
})

describe('listTokens', () => {
  it.each(Object.entries(tokenFilters))('%s reads what it answers from an index', async (_what, filter) => {
    const steps = await planOf(/\btokens\b/, async ({ tokens }) => {
      const key = { scope: 'tokens', value: 'k' }
      await tokens.insert({ record: manualToken('t', { createdAt: 5, tags: ['a'], key }), ...BY })
      for (const page of PAGES) await tokens.list(filter, page, 5)
    })
    expect(steps.length).toBeGreaterThan(0)
    expect(steps.filter(isSlow)).toEqual([])
  })
})
