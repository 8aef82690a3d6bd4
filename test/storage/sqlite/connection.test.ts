import { copyFileSync, renameSync, unlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SqliteConnection } from '../../../src/storage/sqlite/connection.ts'
import type { SqliteHandle } from '../../../src/storage/sqlite/handle.ts'
import { SqliteTurns } from '../../../src/storage/sqlite/turns.ts'
import { openDriver, temporaryFolder } from '../../databases/drivers.ts'
import { until } from '../../support/turn.ts'

const OPTIONS = { synchronous: 'normal', pollMs: 1 } as const

/** A handle that calls `looked` after each look at whether another connection has made a change. */
function watched(handle: SqliteHandle, looked: () => void): SqliteHandle {
  return {
    exec: (sql) => handle.exec(sql),
    prepare(sql) {
      const statement = handle.prepare(sql)
      if (sql !== 'PRAGMA data_version') return statement
      const get = (): unknown => {
        const answer = statement.get()
        looked()
        return answer
      }
      return { run: () => statement.run(), get, all: () => statement.all() }
    },
    close: () => handle.close(),
  }
}

describe('SqliteConnection', () => {
  it('tells its engines of a change of another process, however closely it follows a look', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    let looks = 0
    let change = (): void => undefined
    const handle = watched(openDriver(path), () => {
      looks += 1
      change()
    })
    const connection = new SqliteConnection({ ...OPTIONS, path: undefined, handle })
    await connection.open()
    const other = openDriver(path)
    let told = 0
    const unsubscribe = connection.hints.subscribe('engine', () => (told += 1))
    connection.probe()
    await until(() => looks >= 3)
    for (let changes = 1; changes <= 3; changes += 1) {
      change = () => {
        change = () => undefined
        other.exec('UPDATE changes SET count = count + 1')
      }
      const before = looks
      await until(() => looks >= before + 4)
      expect(told).toBe(changes)
    }
    unsubscribe()
    connection.leave()
    other.close()
    handle.close()
  })

  it('throws nothing into the process while its looks fail, and tells afterwards what it has missed', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    let looks = 0
    let fails = false
    const handle = watched(openDriver(path), () => {
      looks += 1
      if (fails) throw new Error('database is locked')
    })
    const connection = new SqliteConnection({ ...OPTIONS, path: undefined, handle })
    await connection.open()
    const other = openDriver(path)
    let told = 0
    const unsubscribe = connection.hints.subscribe('engine', () => (told += 1))
    const thrown: unknown[] = []
    const note = (error: unknown): void => void thrown.push(error)
    process.on('uncaughtException', note)
    try {
      connection.probe()
      await until(() => looks >= 3)
      fails = true
      const before = looks
      other.exec('UPDATE changes SET count = count + 1')
      await until(() => looks >= before + 3 || thrown.length > 0)
      fails = false
      await until(() => told > 0 || thrown.length > 0)
    } finally {
      process.off('uncaughtException', note)
    }
    expect(thrown).toEqual([])
    expect(told).toBe(1)
    unsubscribe()
    connection.leave()
    other.close()
    handle.close()
  })

  it.each<[what: string, change: (path: string) => void, message: RegExp]>([
    [
      'was moved',
      (path) => renameSync(path, `${path}.bak`),
      /"[^"]+a\.db": the file was moved or deleted while/,
    ],
    ['was deleted', (path) => unlinkSync(path), /the file was moved or deleted while/],
    [
      'was replaced',
      (path) => {
        copyFileSync(path, `${path}.new`)
        renameSync(`${path}.new`, path)
      },
      /the file was replaced by another one while/,
    ],
  ])('acknowledges nothing after its file %s', async (_what, change, message) => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const handle = openDriver(path)
    const connection = new SqliteConnection({ ...OPTIONS, path, handle })
    await connection.open()
    const turns = new SqliteTurns('the database', connection.session)
    const count = (): Promise<unknown> =>
      turns.call(({ database }) => database.value('SELECT count(*) AS value FROM runs'), false)
    expect(await count()).toBe(0)
    change(path)
    await expect(count()).rejects.toMatchObject({
      code: 'ERR_STORAGE_UNAVAILABLE',
      mayBeDone: false,
      message: expect.stringMatching(message) as string,
    })
    connection.leave()
    handle.close()
  })

  it('goes on when a file that was moved is put back', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const handle = openDriver(path)
    const connection = new SqliteConnection({ ...OPTIONS, path, handle })
    await connection.open()
    renameSync(path, `${path}.bak`)
    expect(() => connection.session()).toThrow('moved or deleted')
    renameSync(`${path}.bak`, path)
    expect(connection.session().database.value('SELECT count(*) AS value FROM runs')).toBe(0)
    connection.leave()
    handle.close()
  })
})
