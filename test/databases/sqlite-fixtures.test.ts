import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { SQLITE_SCHEMA_VERSION } from '../../src/storage/sqlite/schema.ts'
import { approveTask, NEVER } from './approve-task.ts'
import { openDriver, temporaryFolder } from './drivers.ts'
import { databaseOf, RELEASED_SQLITE } from './fixtures/fixture.ts'

function versionOf(path: string): number {
  const handle = openDriver(path)
  const row = handle.prepare('PRAGMA user_version').get() as { readonly user_version: number }
  handle.close()
  return row.user_version
}

const versions = Array.from({ length: SQLITE_SCHEMA_VERSION }, (_, index) => index + 1)

describe.each(versions)('a database that was written with schema %i', (version) => {
  it('is brought to the schema of this version, and all that is in it goes on', async () => {
    using folder = temporaryFolder()
    const { path, fixture } = await databaseOf(version, folder)
    await using clock = testClock({ start: new Date(fixture.writtenAt) })
    let hung = 0
    const tasks = [
      approveTask(),
      task({ id: 'hang', run: async () => void (hung += 1) }),
      task({ id: 'nap', run: async () => wait.until({ date: NEVER }) }),
    ]
    const storage = sqliteStorage(openDriver(path))
    await using t = await createTestEngine({ tasks, storage, clock, baseUrl: 'https://example.test' })
    const { engine } = t
    expect(versionOf(path)).toBe(SQLITE_SCHEMA_VERSION)

    const { parked } = fixture
    expect((await engine.wait.retrieveToken(parked.token)).url).toBe(parked.url)
    await t.post(parked.url, 7)
    await clock.advance('2m')
    expect(await engine.runs.retrieve(parked.run)).toMatchObject({
      status: 'COMPLETED',
      output: { token: parked.token, value: 7, effect: expect.stringMatching(/^parked of/) as unknown },
      metadata: { stage: 'draft' },
    })
    expect(await engine.runs.retrieve(fixture.interrupted)).toMatchObject({ status: 'COMPLETED' })
    expect(hung).toBe(1)
    expect((await engine.runs.retrieve(fixture.delayed)).status).toBe('DELAYED')
  })

  it('is found again by key, by tag and by status', async () => {
    using folder = temporaryFolder()
    const { path, fixture } = await databaseOf(version, folder)
    await using clock = testClock({ start: new Date(fixture.writtenAt) })
    const storage = sqliteStorage(openDriver(path))
    await using t = await createTestEngine({ storage, clock, baseUrl: 'https://example.test' })
    t.engine.on('error', () => undefined)
    const { runs, wait: waits } = t.engine
    const again = await waits.createToken({ idempotencyKey: 'order-7' })
    expect([again.isCached, again.id, again.url]).toEqual([true, fixture.keyed.token, fixture.keyed.url])
    const idsOf = ({ data }: { readonly data: readonly { readonly id: string }[] }): string[] =>
      data.map(({ id }) => id)
    expect(idsOf(await runs.list({ tag: 'old' }))).toEqual([fixture.parked.run, fixture.finished])
    expect(idsOf(await runs.list({ status: 'COMPLETED' }))).toEqual([fixture.finished])
    expect(idsOf(await waits.listTokens({ tags: 'orders' }))).toEqual([fixture.late, fixture.keyed.token])
    expect(idsOf(await waits.listTokens({ status: 'TIMED_OUT' }))).toEqual([fixture.late])
    expect(idsOf(await waits.listTokens({ idempotencyKey: 'order-7' }))).toEqual([fixture.keyed.token])
    const chunks: unknown[] = []
    for await (const chunk of t.engine.streams.read(fixture.finished, 'draft')) chunks.push(chunk)
    expect(chunks).toEqual(['1 0', '1 1', '1 2', '1 3', '1 4'])
  })
})

describe('the databases of released versions', () => {
  it('are what fresh ones are, where they are of the present version', async () => {
    // What was released is never changed. Before a release `node scripts/sqlite-fixture.mjs` writes it.
    expect(versions.slice(0, RELEASED_SQLITE.length)).toEqual(RELEASED_SQLITE)
    using folder = temporaryFolder()
    const fresh = openDriver(folder.file('fresh.db'))
    await sqliteStorage(fresh).open()
    const old = openDriver((await databaseOf(SQLITE_SCHEMA_VERSION, folder)).path)
    const [there, made] = [old, fresh].map((handle) =>
      (
        handle.prepare('SELECT sql FROM sqlite_master ORDER BY name').all() as {
          readonly sql: string | null
        }[]
      ).map(({ sql }) => sql?.replaceAll(/\s+/g, ' ')),
    )
    expect(there).toEqual(made)
    for (const handle of [old, fresh]) handle.close()
  })
})
