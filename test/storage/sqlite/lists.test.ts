import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunFilter, TokenFilter } from '../../../src/contract/storage.ts'
import { createIdSource } from '../../../src/primitives/id.ts'
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

describe('a list bounded in time', () => {
  const DAY = 1_700_000_000_000

  /** An id that an engine makes at an instant. */
  function idAt(prefix: string, instant: number, index: number): string {
    const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(index % 256)
    return createIdSource({ now: () => instant, random: { bytes } })(prefix)
  }

  it('reads a range of ids', async () => {
    const steps = await planOf(/FROM (runs|tokens)/, async ({ runs, tokens }) => {
      await runs.insert({ record: queuedRun(idAt('run', DAY, 1), { createdAt: DAY }), ...BY })
      await tokens.insert({ record: manualToken(idAt('waitpoint', DAY, 1), { createdAt: DAY }), ...BY })
      await runs.list({ from: DAY - 5, to: DAY + 5 }, { limit: 10 })
      await tokens.list({ kind: 'MANUAL', status: ['WAITING'], from: DAY, to: DAY }, { limit: 10 }, DAY)
    })
    expect(steps).toContain('SEARCH runs USING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)')
    expect(steps).toContain('SEARCH tokens USING INDEX tokens_by_status (status=? AND id>? AND id<?)')
  })

  it('has all that was created then, also by clocks that stepped, with ids of any kind', async () => {
    const made = fc.record({ at: fc.nat(20), createdAt: fc.nat(20) })
    const given = fc.record({ id: fc.stringMatching(/^[a-z]{1,3}$/), createdAt: fc.nat(20) })
    const bound = fc.option(fc.nat(20), { nil: undefined })
    const cursor = fc.option(fc.nat(30), { nil: undefined })
    const all = fc.tuple(
      fc.array(fc.oneof({ weight: 20, arbitrary: made }, { weight: 1, arbitrary: given }), { maxLength: 15 }),
      fc.record({ from: bound, to: bound }),
      cursor,
      fc.boolean(),
    )
    await fc.assert(
      fc.asyncProperty(all, async ([wanted, { from, to }, cursorAt, isBefore]) => {
        const handle = openDriver(':memory:')
        const storage = sqliteStorage(handle)
        await storage.open()
        const records = new Map(
          wanted.map((one, index) => {
            const id = 'id' in one ? one.id : idAt('run', DAY + one.at, index)
            return [id, queuedRun(id, { createdAt: DAY + one.createdAt })] as const
          }),
        )
        for (const record of records.values()) await storage.runs.insert({ record, ...BY })
        const at = (offset: number | undefined): number | undefined =>
          offset === undefined ? undefined : DAY + offset
        const cursorId = cursorAt === undefined ? undefined : idAt('run', DAY + cursorAt, 7)
        const page = { limit: 100, ...(cursorId && { [isBefore ? 'before' : 'after']: cursorId }) }
        const listed = await storage.runs.list({ from: at(from), to: at(to) }, page)
        const isOnPage = (id: string): boolean =>
          cursorId === undefined || (isBefore ? id > cursorId : id < cursorId)
        const expected = [...records.values()].filter(
          ({ id, createdAt }) =>
            createdAt >= (at(from) ?? 0) && createdAt <= (at(to) ?? Infinity) && isOnPage(id),
        )
        expect(listed.records.map(({ id }) => id)).toEqual(
          expected.map(({ id }) => id).sort((one, other) => (one < other ? 1 : -1)),
        )
        handle.close()
      }),
      { numRuns: 200 },
    )
  })
})
