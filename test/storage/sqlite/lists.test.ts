import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunFilter, Storage, TokenFilter } from '../../../src/contract/storage.ts'
import { inNextTurn } from '../../../src/clock/macrotask-turn.ts'
import { idsAt } from '../../../src/primitives/id.ts'
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { bindingOf, type SqliteHandle } from '../../../src/storage/sqlite/handle.ts'
import { sqliteStorage } from '../../../src/storage/sqlite/sqlite.ts'
import { namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../../src/testing/conformance/sample-records.ts'
import { openDriver } from '../../databases/drivers.ts'

const PAGES = [{ limit: 10 }, { limit: 10, after: 'm' }, { limit: 10, before: 'm' }] as const
const BY = { now: 5, by: 'a' } as const

/** How SQLite goes about every read of these tables that was asked for: one line for each step. */
async function planOf(
  tables: RegExp,
  ask: (storage: Storage) => Promise<unknown>,
): Promise<readonly string[]> {
  const handle = openDriver(':memory:')
  const asked = new Set<string>()
  const storage = namedStorage(
    sqliteStorage({
      exec: (sql) => handle.exec(sql),
      prepare(sql) {
        if (/^(SELECT|WITH)/.test(sql) && tables.test(sql)) asked.add(sql)
        return handle.prepare(sql)
      },
      close: () => handle.close(),
    }),
  )
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
  'below a root': { root: 'r' },
  'below a root, by everything': {
    root: 'r',
    status: ['FAILED'],
    tags: ['a'],
    taskIds: ['task'],
    from: 1,
    to: 9,
  },
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
        'SCAN runs USING COVERING INDEX sqlite_autoindex_runs_1',
        'SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (id<?)',
        'SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (id>?)',
      ]),
    )
  })

  it('of roots goes along their index, as far as the page', async () => {
    const steps = await planOf(/\bruns\b/, async ({ runs }) => {
      for (const page of PAGES) await runs.list({ isRoot: true }, page)
    })
    expect(steps.map((step) => step.replace(/ \(.*/, '').replace('SCAN', 'SEARCH'))).toEqual(
      steps.map(() => 'SEARCH runs USING INDEX runs_without_parent'),
    )
  })

  it('finds a run by the tags it has now', async () => {
    const handle = openDriver(':memory:')
    const storage = namedStorage(sqliteStorage(handle))
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

  it('reads a range of ids', async () => {
    const steps = await planOf(/FROM (runs|tokens)/, async ({ runs, tokens }) => {
      await runs.insert({ record: queuedRun('r', { createdAt: DAY }), ...BY })
      await tokens.insert({ record: manualToken('t', { createdAt: DAY }), ...BY })
      await runs.list({ from: DAY - 5, to: DAY + 5 }, { limit: 10 })
      await tokens.list({ kind: 'MANUAL', status: ['WAITING'], from: DAY, to: DAY }, { limit: 10 }, DAY)
    })
    expect(steps).toContain('SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)')
    expect(steps).toContain(
      'SEARCH tokens USING COVERING INDEX tokens_by_status (status=? AND id>? AND id<?)',
    )
  })

  it('has all that was created then', async () => {
    const bound = fc.option(fc.double({ min: -1, max: 21, noNaN: true }), { nil: undefined })
    const all = fc.tuple(
      fc.array(fc.nat(20), { maxLength: 15 }),
      fc.record({ from: bound, to: bound }),
      fc.option(fc.nat(30), { nil: undefined }),
      fc.boolean(),
    )
    await fc.assert(
      fc.asyncProperty(all, async ([created, { from = -1, to = 99 }, cursorAt, isBefore]) => {
        const handle = openDriver(':memory:')
        const storage = namedStorage(sqliteStorage(handle))
        await storage.open()
        const names = created.map((at, index) => ({ id: `r${String(index).padStart(2, '0')}`, at }))
        for (const { id, at } of names)
          await storage.runs.insert({ record: queuedRun(id, { createdAt: DAY + at }), ...BY })
        const cursor = cursorAt === undefined ? undefined : idsAt('run', DAY + cursorAt)
        const page = { limit: 100, ...(cursor && { [isBefore ? 'before' : 'after']: cursor }) }
        const listed = await storage.runs.list({ from: DAY + from, to: DAY + to }, page)
        const isOnPage = (at: number): boolean =>
          cursorAt === undefined || (isBefore ? at >= cursorAt : at < cursorAt)
        const expected = names.filter(
          ({ at }) => DAY + at >= DAY + from && DAY + at <= DAY + to && isOnPage(at),
        )
        expected.sort((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1))
        expect(listed.records.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
        handle.close()
      }),
      { numRuns: 200 },
    )
  })
})

describe('a page of large records', () => {
  const LARGE = JSON.stringify('a'.repeat(700_000))
  const MOST = 2_000_000

  type Most = (ask: () => Promise<unknown>) => Promise<number>

  /** A storage, and the most characters that were read from its database between two turns of the event loop. */
  async function watchedStorage(): Promise<Disposable & { storage: Storage; most: Most }> {
    const handle = openDriver(':memory:')
    let [moved, most, isOver] = [0, 0, false]
    const seen = <Answer>(answer: Answer): Answer => {
      moved += JSON.stringify(answer ?? null).length
      most = Math.max(most, moved)
      return answer
    }
    const turn = (): void => {
      moved = 0
      if (!isOver) inNextTurn(turn)
    }
    turn()
    const storage = sqliteStorage({
      exec: (sql) => handle.exec(sql),
      prepare(sql) {
        const statement = handle.prepare(sql)
        return {
          run: (...given) => statement.run(...given),
          get: (...given) => seen(statement.get(...given)),
          all: (...given) => seen(statement.all(...given)),
        }
      },
      close: () => handle.close(),
    })
    await storage.open()
    return {
      storage: namedStorage(storage),
      most: async (ask) => {
        await new Promise<void>(inNextTurn)
        most = 0
        await ask()
        return most
      },
      [Symbol.dispose]: () => {
        isOver = true
        handle.close()
      },
    }
  }

  it('is read in several turns of the event loop, without those that have left it meanwhile', async () => {
    using watched = await watchedStorage()
    const { runs, tokens } = watched.storage
    const ids = Array.from({ length: 12 }, (_, at) => `r${String(at).padStart(2, '0')}`)
    for (const [at, id] of ids.entries()) {
      const createdAt = 5 + at
      await runs.insert({ record: queuedRun(id, { createdAt, payloadJson: LARGE }), ...BY })
      await tokens.insert({ record: manualToken(id, { createdAt }), ...BY })
      await tokens.settle({ id, outputJson: LARGE, now: 50, by: 'a' })
    }
    const newest = ids.toReversed().slice(0, 10)
    const bound = MOST + 2 * LARGE.length
    const ofAll = async (): Promise<void> => {
      const { records, next } = await runs.list({}, { limit: 10 })
      expect(records.map(({ id }) => id)).toEqual(newest)
      expect(next).toBe(newest.at(-1))
    }
    expect(await watched.most(ofAll)).toBeLessThan(bound)
    const ofTokens = async (): Promise<void> => {
      const { records } = await tokens.list({ kind: 'MANUAL', status: ['COMPLETED'] }, { limit: 10 }, 60)
      expect(records.map(({ id }) => id)).toEqual(newest)
    }
    expect(await watched.most(ofTokens)).toBeLessThan(bound)
    const asked = runs.list({ status: ['QUEUED'] }, { limit: 10 })
    const change = { status: 'CANCELED' } as const
    await runs.update({ id: 'r03', expected: { status: ['QUEUED'] }, change, ...BY })
    expect((await asked).records.map(({ id }) => id)).toEqual(newest.filter((id) => id !== 'r03'))
  })
})
