import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { freshDatabase } from '../databases/postgres/fresh-database.ts'
import { InstalledPackage, type ProgramEnd } from './program.ts'

let installed: InstalledPackage
let database: AsyncDisposable & { readonly url: string }
beforeAll(async () => {
  installed = await InstalledPackage.create()
  database = await freshDatabase()
})
afterAll(async () => {
  installed[Symbol.dispose]()
  await database[Symbol.asyncDispose]()
})

const ask = task({
  id: 'ask',
  run: async () => wait.forToken<string>(await wait.createToken({ tags: ['question'] })).unwrap(),
})

describe('--postgres', () => {
  const call = (...args: readonly string[]): Promise<ProgramEnd> =>
    installed.start([...args, '--postgres', database.url, '--schema', 'shop']).ended

  it('looks at a schema of a database without making it, and completes what waits there', async () => {
    expect(await call('runs', 'list')).toMatchObject({
      code: 4,
      err: expect.stringContaining('there is nothing in it yet') as string,
    })
    await using engine = createEngine({
      tasks: [ask],
      storage: postgresStorage({ connectionString: database.url, schema: 'shop' }),
    })
    const run = await engine.trigger(ask, undefined)
    for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
    const health = await call('doctor')
    expect(health).toMatchObject({ code: 0, err: '' })
    expect(health.out).toMatch(/^runs\s+1 WAITING$/m)
    expect(health.out).toMatch(/^engines\s+engine_\w+: alive, .*holds 1 run$/m)
    // Passwords are for the server alone.
    expect(health.out).toContain('(schema shop)')
    const { data } = JSON.parse((await call('tokens', 'list', '--json')).out) as { data: [{ id: string }] }
    expect(await call('tokens', 'complete', data[0].id, '--output', '"yes"')).toMatchObject({ code: 0 })
    expect(await run.result()).toBe('yes')
    expect((await call('runs', 'watch', run.id)).out).toContain('COMPLETED  "yes"')
  })

  it('says when the server cannot be reached', async () => {
    const { code, err } = await installed.start(['doctor', '--postgres', 'postgres://127.0.0.1:1/none']).ended
    expect(code).toBe(4)
    expect(err).toContain('Cannot open Postgres schema "waitpoint"')
  })
})
