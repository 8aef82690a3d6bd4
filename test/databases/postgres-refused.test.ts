import { chmodSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { freePort } from '../support/free-port.ts'
import { rejection } from '../support/body-task.ts'
import { temporaryFolder } from './drivers.ts'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { startPostgres } from './postgres/server.ts'
import { testPool } from './postgres-schemas.ts'

/** The address of the server, changed. */
function changed(change: (url: URL) => void, from: string = postgresUrl()): string {
  const url = new URL(from)
  change(url)
  return String(url)
}

async function refusalOf(storage: Storage): Promise<Error> {
  // What an opening rejects with is an error.
  return (await rejection(Promise.resolve(storage.open()))) as Error
}

const opening = (connectionString: string): Promise<Error> => refusalOf(postgresStorage({ connectionString }))

describe('a server that cannot be reached', () => {
  it('where none is', async () => {
    const port = String(await freePort())
    const error = await opening(changed((url) => (url.port = port)))
    expect(error.message).toMatch(/ECONNREFUSED [^;]+; no server listens there/)
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('with a wrong password', async () => {
    const error = await opening(changed((url) => (url.password = 'wrong')))
    expect(error.message).toMatch(/password authentication failed .*; check the user and the password/)
    expect(error.cause).toMatchObject({ code: '28P01' })
  })

  it('with a database that is not there', async () => {
    const error = await opening(changed((url) => (url.pathname = '/not_there')))
    expect(error.message).toMatch(/; create the database, or name another one/)
  })

  it('over TLS, where it has none', async () => {
    const error = await opening(changed((url) => url.searchParams.set('sslmode', 'require')))
    expect(error.message).toMatch(/does not support SSL connections; leave `sslmode` out/)
  })

  it('without TLS, where it wants that', async () => {
    using folder = temporaryFolder()
    const hbaFile = folder.file('pg_hba.conf')
    writeFileSync(hbaFile, 'hostssl all all all scram-sha-256\n')
    // The server is another user.
    chmodSync(folder.path, 0o755)
    chmodSync(hbaFile, 0o644)
    await using server = await startPostgres({ hba_file: hbaFile })
    expect((await opening(server.url)).message).toMatch(
      /no encryption; the server may want TLS: add `sslmode/,
    )
  })

  it('as one of too many', async () => {
    await using admin = await connectPostgres()
    const role = `crowded_${process.pid}`
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0`)
    try {
      const error = await opening(
        changed((url) => {
          url.username = role
          url.password = 'secret'
        }),
      )
      expect(error.message).toMatch(/too many connections .*; each process has up to/)
    } finally {
      await admin.query(`DROP ROLE ${role}`)
    }
  })

  it('over a pool whose connections are all lent', async () => {
    const pool = testPool(2)
    const lent = [await pool.connect(), await pool.connect()]
    pool.options.connectionTimeoutMillis = 50
    const error = await refusalOf(postgresStorage({ pool }))
    expect(error.message).toMatch(/timeout exceeded .*; all connections of the pool are in use/)
    for (const client of lent) client.release()
    await pool.end()
    expect((await refusalOf(postgresStorage({ pool }))).message).toMatch(/; end the pool once all engines/)
  })
})

describe('a password that is changed while an engine uses it', () => {
  it('is a storage that is away, and no fault of a call', async () => {
    await using schema = new FreshSchema()
    await using admin = await connectPostgres()
    const role = `rotated_${process.pid}`
    await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'first'`)
    const connectionString = changed((url) => {
      url.username = role
      url.password = 'first'
    })
    const storage = postgresStorage({ connectionString, schema: schema.schema, listen: false })
    await storage.open()
    try {
      await admin.query(`ALTER ROLE ${role} PASSWORD 'second'`)
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role])
      expect(await rejection(Promise.resolve(storage.runs.get('run_1')))).toMatchObject({
        code: 'ERR_STORAGE_UNAVAILABLE',
        mayBeDone: false,
        message: expect.stringContaining('check the user and the password') as string,
        cause: { code: '28P01' },
      })
    } finally {
      await admin.query(`ALTER ROLE ${role} PASSWORD 'first'`)
      await storage.leave({ owner: 'me', now: 1 })
      await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
    }
  })
})
