import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inNextTurn } from '../../../src/clock/macrotask-turn.ts'
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { SqliteHints } from '../../../src/storage/sqlite/hints.ts'
import type { SqliteHandle } from '../../../src/storage/sqlite/handle.ts'
import { RefusedCall, type SqliteSession } from '../../../src/storage/sqlite/session.ts'
import { SqliteTurns } from '../../../src/storage/sqlite/turns.ts'
import { openDriver, temporaryFolder } from '../../databases/drivers.ts'

/** Turns on a database with one table, and the transactions they made of their calls. */
function turnsOn(handle: SqliteHandle): { readonly turns: SqliteTurns; readonly commits: () => number } {
  handle.exec('CREATE TABLE IF NOT EXISTS one (a INTEGER PRIMARY KEY)')
  let commits = 0
  const database = new SqliteDatabase(
    {
      exec: (sql) => handle.exec(sql),
      prepare(sql) {
        const statement = handle.prepare(sql)
        if (sql !== 'COMMIT') return statement
        return { ...statement, run: () => ((commits += 1), statement.run()), get: () => 0, all: () => 0 }
      },
      close: () => handle.close(),
    },
    'array',
  )
  const session: SqliteSession = { database, hints: new SqliteHints() }
  return { turns: new SqliteTurns('the database', () => session), commits: () => commits }
}

const insert =
  (value: number) =>
  ({ database }: SqliteSession): number => {
    database.run('INSERT INTO one (a) VALUES (?)', value)
    return value
  }

const count = ({ database }: SqliteSession): unknown => database.value('SELECT count(*) AS value FROM one')

describe('SqliteTurns', () => {
  it('makes one transaction of all calls of a turn, and answers them in order', async () => {
    const { turns, commits } = turnsOn(openDriver(':memory:'))
    const answers: number[] = []
    await Promise.all(
      [1, 2, 3].map((value) => turns.call(insert(value), false).then((one) => answers.push(one))),
    )
    expect([answers, commits()]).toEqual([[1, 2, 3], 1])
    expect(await turns.call(count, true)).toBe(3)
  })

  it('gives the event loop a turn between transactions when there are thousands of calls', async () => {
    const { turns, commits } = turnsOn(openDriver(':memory:'))
    const all = Promise.all(Array.from({ length: 2_000 }, (_, value) => turns.call(insert(value), false)))
    const atTurns: number[] = []
    while (commits() < 4) {
      await new Promise((resolve) => setImmediate(resolve))
      atTurns.push(commits())
    }
    await all
    expect(atTurns).toEqual([1, 2, 3, 4])
    expect(await turns.call(count, true)).toBe(2_000)
  })

  it('moves no more texts between two turns than fit, and one call, in the order of the calls', async () => {
    const most = 2_000_000
    const calls = fc.array(fc.record({ size: fc.nat({ max: most }), isRead: fc.boolean() }), {
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(calls, async (given) => {
        const handle = openDriver(':memory:')
        const { turns } = turnsOn(handle)
        const moved: number[][] = [[]]
        const progress = { isOver: false }
        const turn = (): void => {
          moved.unshift([])
          if (!progress.isOver) inNextTurn(turn)
        }
        turn()
        const answers = given.map(({ size, isRead }) => {
          const sql = isRead ? `SELECT printf('%.*c', ${size}, 'a') AS value` : 'SELECT length(?) AS value'
          const texts = isRead ? [] : ['a'.repeat(size)]
          return turns.call(({ database }) => (database.value(sql, ...texts), moved[0]?.push(size)), isRead)
        })
        await Promise.all(answers).finally(() => (progress.isOver = true))
        handle.close()
        expect(moved.toReversed().flat()).toEqual(given.map(({ size }) => size))
        for (const sizes of moved)
          expect(sizes.slice(0, -1).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(most)
      }),
      { numRuns: 30 },
    )
  })

  it('gives every call its own error, and takes none of the others with it', async () => {
    const { turns } = turnsOn(openDriver(':memory:'))
    const twice = await Promise.allSettled([1, 1, 2].map((value) => turns.call(insert(value), false)))
    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((twice[1] as PromiseRejectedResult).reason).toMatchObject({
      message: expect.stringMatching(/^Cannot use the database: UNIQUE constraint failed/) as string,
      cause: { code: expect.stringMatching(/^SQLITE_CONSTRAINT/) as string },
    })
    expect(await turns.call(count, true)).toBe(2)
  })

  it('goes on after a call that is refused, in the same transaction', async () => {
    const { turns, commits } = turnsOn(openDriver(':memory:'))
    const refuse = (): never => {
      throw new RefusedCall('no')
    }
    const both = await Promise.allSettled([turns.call(refuse, false), turns.call(insert(1), false)])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(commits()).toBe(1)
  })

  it('waits while another connection writes, and keeps the order', async () => {
    using folder = temporaryFolder()
    const other = openDriver(folder.file('a.db'))
    other.exec('PRAGMA journal_mode = WAL')
    const handle = openDriver(folder.file('a.db'))
    const { turns } = turnsOn(handle)
    other.exec('BEGIN IMMEDIATE')
    const answers: unknown[] = []
    const first = turns.call(insert(1), false).then((one) => answers.push(one))
    const second = turns.call(count, false).then((one) => answers.push(one))
    await Promise.resolve()
    await Promise.resolve()
    expect(answers).toEqual([])
    other.exec('COMMIT')
    await Promise.all([first, second])
    expect(answers).toEqual([1, 1])
  })
})
