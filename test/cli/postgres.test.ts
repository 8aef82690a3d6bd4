import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { POSTGRES_SCHEMA_VERSION } from '../../src/storage/postgres/schema.ts'
import { connectPostgres } from '../databases/postgres/client.ts'
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

  it('brings a schema up to date, after a trial that changes nothing', async () => {
    const admin = (...args: readonly string[]): Promise<ProgramEnd> =>
      installed.start(['migrate', ...args, '--postgres', database.url, '--schema', 'office']).ended
    const version = POSTGRES_SCHEMA_VERSION
    expect(await admin('--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`the way to version ${version} was tried`) as string,
    })
    const printed = await admin('--sql', '--role', 'a "b"')
    expect(printed.out).toMatch(
      /^BEGIN;\nSET LOCAL statement_timeout = 0;\nDO [^]*GRANT USAGE ON SCHEMA "office" TO "a ""b""";[^]*COMMIT;\n+$/,
    )
    expect((await admin('--sql', '--json')).out).toContain(`"from":0,"to":${version},"sql":"BEGIN;`)
    expect(await admin()).toMatchObject({
      code: 0,
      out: expect.stringContaining(`its schema was made: version ${version}`) as string,
    })
    expect((await admin()).out).toContain(`its schema is version ${version}, and up to date`)
    const none = { code: 0, out: '', err: expect.stringContaining('and up to date') as string }
    expect(await admin('--sql')).toMatchObject(none)
    await using client = await connectPostgres(database.url)
    const role = `app_${process.pid}`
    await client.query(`CREATE ROLE ${role}`)
    expect((await admin('--role', role)).out).toContain(
      `its schema is version ${version}; role "${role}" has its rights`,
    )
    const { rows } = await client.query(
      `SELECT has_table_privilege('${role}', 'office.queues', 'INSERT') AS may`,
    )
    expect(rows).toEqual([{ may: true }])
    await client.query(`DROP OWNED BY ${role}`)
    await client.query(`DROP ROLE ${role}`)
    await using engine = createEngine({
      tasks: [],
      storage: postgresStorage({ connectionString: database.url, schema: 'office' }),
    })
    await engine.ready()
  })

  it('looks with a role that may only read, and says so when it is to change something', async () => {
    await using engine = createEngine({
      tasks: [ask],
      storage: postgresStorage({ connectionString: database.url, schema: 'museum' }),
    })
    const { id } = await engine.trigger(ask, undefined)
    for await (const { isWaiting } of engine.runs.subscribeToRun(id)) if (isWaiting) break
    const token = (await engine.wait.listTokens()).data[0]
    await using client = await connectPostgres(database.url)
    const role = `visitor_${process.pid}`
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'visitor'`)
    await client.query(`GRANT USAGE ON SCHEMA museum TO ${role}`)
    await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA museum TO ${role}`)
    const url = Object.assign(new URL(database.url), { username: role, password: 'visitor' })
    const look = (...args: readonly string[]): Promise<ProgramEnd> =>
      installed.start([...args, '--postgres', url.href, '--schema', 'museum']).ended
    for (const [args, shown] of [
      [['runs', 'list'], id],
      [['runs', 'get', id], id],
      [['tokens', 'get', token?.id ?? ''], 'WAITING'],
    ] as const)
      expect(await look(...args), args.join(' ')).toMatchObject({
        code: 0,
        out: expect.stringContaining(shown) as string,
      })
    for (const args of [
      ['runs', 'cancel', id],
      ['tokens', 'complete', token?.id ?? '', '--output', '1'],
    ])
      expect(await look(...args), args.join(' ')).toMatchObject({
        code: 4,
        out: '',
        err: expect.stringMatching(
          /Cannot change postgres:.*museum.*: it may not be written by this user/,
        ) as string,
      })
    await client.query(`DROP OWNED BY ${role}`)
    await client.query(`DROP ROLE ${role}`)
  })

  it('tells why a schema cannot be brought up to date', async () => {
    await using client = await connectPostgres(database.url)
    await client.query('CREATE SCHEMA newer')
    await client.query('CREATE TABLE newer.version AS SELECT 99 AS version')
    const role = `clerk_${process.pid}`
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'clerk'`)
    const url = Object.assign(new URL(database.url), { username: role, password: 'clerk' })
    for (const [args, message] of [
      [['--postgres', database.url, '--schema', 'newer'], 'its schema is version 99'],
      [['--dry-run', '--postgres', url.href], 'have a role with more rights run what --sql prints'],
      [['--postgres', url.href], `role "${role}" may not create schema "waitpoint"; run this SQL`],
    ] as const)
      expect(await installed.start(['migrate', ...args]).ended).toMatchObject({
        code: 4,
        out: '',
        err: expect.stringContaining(message) as string,
      })
    await client.query(`DROP ROLE ${role}`)
  })

  it('says when the server cannot be reached', async () => {
    const { code, err } = await installed.start(['doctor', '--postgres', 'postgres://127.0.0.1:1/none']).ended
    expect(code).toBe(4)
    expect(err).toContain('Cannot open Postgres schema "waitpoint"')
  })
})
