import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { createTestEngine, testClock } from 'waitpoint/testing'
import type { SqliteHandle } from '../../src/storage/sqlite/handle.ts'
import { SQLITE_SCHEMA_VERSION } from '../../src/storage/sqlite/schema.ts'
import { rejection } from '../support/body-task.ts'
import { openDriver, temporaryFolder } from './drivers.ts'

const ask = task({
  id: 'ask',
  run: async (token: string) => wait.forToken<string>(token).unwrap(),
})

/** The content of a database file that another application made with these statements. */
function fileOf(path: string, ...statements: readonly string[]): Buffer {
  const handle = openDriver(path)
  for (const statement of statements) handle.exec(statement)
  handle.close()
  return readFileSync(path)
}

async function openingError(handle: SqliteHandle): Promise<string> {
  const engine = createEngine({ storage: sqliteStorage(handle) })
  const error = await rejection(engine.ready())
  await engine.close()
  handle.close()
  return String(error)
}

describe('a file that is not for waitpoint', () => {
  it.each([
    ['of another program', ['CREATE TABLE theirs (a)'], 'it is a database of another program'],
    ['marked by another program', ['PRAGMA application_id = 7'], 'it is a database of another program'],
    [
      'of a newer version',
      ['PRAGMA application_id = 2003857012', 'PRAGMA user_version = 99', 'CREATE TABLE runs (a)'],
      `its schema is version 99, and this version of waitpoint knows ${SQLITE_SCHEMA_VERSION}: install a newer one`,
    ],
  ])('%s is refused, and stays as it is', async (_what, statements, message) => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const before = fileOf(path, ...statements)
    expect(await openingError(openDriver(path))).toBe(`Error: Cannot open the SQLite database: ${message}`)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('in a folder that does not exist is refused, and the message says so', async () => {
    using folder = temporaryFolder()
    await using engine = createEngine({ storage: sqliteStorage(folder.file('none/a.db')) })
    expect(String(await rejection(engine.ready()))).toMatch(/none\/a\.db": its folder does not exist$/)
  })

  it('that is no database is refused, and stays as it is', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const text = Buffer.from('These are notes, and no database. '.repeat(100))
    writeFileSync(path, text)
    expect(await openingError(openDriver(path))).toMatch(/file is not a database/)
    expect(readFileSync(path).equals(text)).toBe(true)
  })

  it('that was cut off is an error of the calls that meet the damage', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const first = openDriver(path)
    const engine = createEngine({ storage: sqliteStorage(first) })
    await engine.ready()
    await engine.close()
    first.close()
    writeFileSync(path, readFileSync(path).subarray(0, 8_192))
    expect(await openingError(openDriver(path))).toMatch(/malformed|corrupt/)
  })
})

describe('a database that cannot be written', () => {
  it('is refused with the reason', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    fileOf(path)
    chmodSync(path, 0o444)
    const handle = openDriver(path)
    handle.exec('PRAGMA query_only = 1')
    expect(await openingError(handle)).toMatch(/attempt to write a readonly database/)
  })

  it('fails the calls while the disk is full, loses nothing, and goes on when there is room', async () => {
    using folder = temporaryFolder()
    const handle = openDriver(folder.file('a.db'))
    await using t = await createTestEngine({ tasks: [ask], storage: sqliteStorage(handle) })
    t.engine.on('error', () => undefined)
    const token = await t.engine.wait.createToken({ timeout: '30d' })
    const run = await t.engine.trigger(ask, token.id)
    await t.clock.settle()
    handle.exec('PRAGMA max_page_count = 1')
    const big = 'x'.repeat(100_000)
    const refused = await rejection(t.engine.trigger(ask, big, { idempotencyKey: 'big', delay: '30d' }))
    expect(String(refused)).toBe(
      'StorageUnavailableError: Cannot use the SQLite database: database or disk is full',
    )
    expect((refused as Error).cause).toMatchObject({ code: 'SQLITE_FULL' })
    handle.exec('PRAGMA max_page_count = 1000000')
    expect((await t.engine.trigger(ask, big, { idempotencyKey: 'big', delay: '30d' })).id).toMatch(/^run_/)
    await t.engine.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
  })
})

describe('several engines', () => {
  it('share one handle, and hear of each other at once', async () => {
    using folder = temporaryFolder()
    const handle = openDriver(folder.file('a.db'))
    await using clock = testClock()
    await using worker = await createTestEngine({
      tasks: [ask],
      storage: sqliteStorage(handle),
      clock,
      seed: 'worker',
    })
    await using web = await createTestEngine({ storage: sqliteStorage(handle), clock, seed: 'web' })
    const token = await web.engine.wait.createToken()
    const run = await worker.engine.trigger(ask, token.id)
    await clock.settle()
    await web.engine.wait.completeToken(token, 'yes')
    await clock.settle()
    expect(await worker.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'yes' })
  })

  it('on connections of their own notice in a few milliseconds what the others did', async () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const open = (): ReturnType<typeof sqliteStorage> => sqliteStorage(openDriver(path))
    await using worker = createEngine({ tasks: [ask], storage: open() })
    await using web = createEngine({ tasks: [ask], storage: open() })
    await Promise.all([worker.ready(), web.ready()])
    const token = await web.wait.createToken()
    const run = await worker.trigger(ask, token.id)
    await web.wait.completeToken(token, 'yes')
    expect(await run.result()).toBe('yes')
  })
})

describe('a handle of the caller', () => {
  it('is not used inside their open transaction', async () => {
    using folder = temporaryFolder()
    const handle = openDriver(folder.file('a.db'))
    const storage = sqliteStorage(handle)
    await storage.open()
    handle.exec('BEGIN')
    const refused = storage.settings.getOrInsert('name', 'value')
    expect(String(await rejection(Promise.resolve(refused)))).toMatch(
      /^Error: Cannot use the SQLite database: a transaction of its owner is open; end it in the turn/,
    )
    handle.exec('ROLLBACK')
    expect(await storage.settings.getOrInsert('name', 'value')).toBe('value')
  })

  it('stays open when the last engine has left', async () => {
    const handle = openDriver(':memory:')
    const engine = createEngine({ storage: sqliteStorage(handle) })
    await engine.ready()
    await engine.close()
    expect(() => handle.exec('SELECT 1')).not.toThrow()
    handle.close()
  })
})

describe('a disk that is full', () => {
  it('fails no run: its call is made again until there is room', async () => {
    using folder = temporaryFolder()
    const handle = openDriver(folder.file('a.db'))
    const errors: unknown[] = []
    const later = task({ id: 'later', run: async (_: string) => undefined })
    const big = task({
      id: 'big',
      run: async (_: null, { tasks, ctx }) => {
        await t.clock.sleep('1s')
        await tasks.trigger<typeof later>('later', 'x'.repeat(1_000_000), { delay: '1d' })
        return ctx.attempt.number
      },
    })
    const t = await createTestEngine({
      tasks: [big, later],
      storage: sqliteStorage(handle),
      clock: { mode: 'manual' },
    })
    t.engine.on('error', ({ error }) => errors.push(error))
    const run = await t.engine.trigger(big, null)
    await t.clock.settle()
    handle.exec('PRAGMA max_page_count = 100')
    await t.clock.advance('5s')
    expect(errors).toMatchObject([{ code: 'ERR_STORAGE_UNAVAILABLE', until: undefined }])
    handle.exec('PRAGMA max_page_count = 1000000')
    await t.clock.advance('10s')
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 1 })
    expect(errors).toMatchObject([{}, { code: 'ERR_STORAGE_UNAVAILABLE', until: expect.any(Date) as Date }])
    await t.close()
    handle.close()
  })
})
