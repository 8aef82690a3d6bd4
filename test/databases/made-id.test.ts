import { describe, expect, it } from 'vitest'
import type { Storage } from '../../src/contract/storage.ts'
import { idsAt } from '../../src/primitives/id.ts'
import { idRange } from '../../src/storage/made-id.ts'
import { memoryStorage } from '../../src/storage/memory/memory.ts'
import { postgresStorage } from '../../src/storage/postgres/postgres.ts'
import { sqliteStorage } from '../../src/storage/sqlite/sqlite.ts'
import { openDriver } from './drivers.ts'
import { manualToken, queuedRun } from '../storage/storage-fixture.ts'

const TAIL = '0'.repeat(16)
const NOW = { now: 5, by: 'a' } as const
/** Ids that no engine makes for what is created at the instant 5. */
const FOREIGN = {
  'without an instant': '1',
  'of another instant': '0000000006' + TAIL,
  'that is too short': '0000000005' + TAIL.slice(1),
  'of other digits': '0000000005' + TAIL.slice(1) + 'u',
}

/** The storage of Postgres refuses before it asks a server. */
const storages: readonly (readonly [string, () => Storage])[] = [
  ['memory', memoryStorage],
  ['SQLite', () => sqliteStorage(openDriver(':memory:'))],
  [
    'Postgres',
    () => {
      const unused = (): never => {
        throw new Error('asked a server')
      }
      return postgresStorage({ pool: { query: unused, connect: unused } })
    },
  ],
]

describe.each(storages)('the storage of %s', (name, open) => {
  it.each(Object.entries(FOREIGN))('refuses an id %s, before anything has changed', async (_what, digits) => {
    const storage = open()
    const { runs, tokens } = storage
    if (name !== 'Postgres') await storage.open()
    const key = { scope: 'schedule', value: 'k' }
    const run = queuedRun(`run_${digits}`, { createdAt: 5, key })
    const token = manualToken(`waitpoint_${digits}`, { createdAt: 5, key })
    await expect(async () => runs.insert({ record: run, mark: 7, ...NOW })).rejects.toThrow(
      `Cannot insert "run_${digits}" into runs: its id must be "run_" and 26 characters that begin with its createdAt, 5`,
    )
    await expect(async () => tokens.insert({ record: token, ...NOW })).rejects.toThrow(
      `Cannot insert "waitpoint_${digits}" into tokens`,
    )
    if (name === 'Postgres') return
    expect((await runs.list({}, { limit: 5 })).records).toEqual([])
    expect((await tokens.list({ kind: 'MANUAL' }, { limit: 5 }, 5)).records).toEqual([])
    expect(await runs.marks(['schedule'])).toEqual([undefined])
  })
})

describe('idRange', () => {
  const idAt = (at: number): string => idsAt('run', at) + TAIL
  const isIn = (at: number, bounds: { readonly from?: number; readonly to?: number }): boolean => {
    const { floor = '', ceiling = '~' } = idRange('runs', bounds)
    return idAt(at) >= floor && idAt(at) < ceiling
  }

  it.each([-Infinity, -1, 0, 0.5, 4, 4.5, 5, 5.5, 6, 2 ** 48 - 1, 2 ** 48, Infinity])(
    'has what was created from %d on, and up to it',
    (bound) => {
      for (const at of [0, 1, 4, 5, 6, 2 ** 48 - 1]) {
        expect([at, isIn(at, { from: bound })]).toEqual([at, at >= bound])
        expect([at, isIn(at, { to: bound })]).toEqual([at, at <= bound])
      }
    },
  )

  it('is all ids without bounds', () => {
    expect(idRange('runs', {})).toEqual({ floor: undefined, ceiling: undefined })
  })
})
