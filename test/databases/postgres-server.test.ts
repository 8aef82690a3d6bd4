import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { startPostgres } from './postgres/server.ts'

describe('the Postgres server of the tests', () => {
  it('is shared by all tests, new enough, and refuses connections without its password', async () => {
    await using client = await connectPostgres()
    const { rows } = await client.query<{ version: number }>(
      "SELECT current_setting('server_version_num')::int AS version",
    )
    expect(rows[0]?.version).toBeGreaterThanOrEqual(140_000)
    const url = new URL(postgresUrl())
    url.password = 'wrong'
    await expect(connectPostgres(String(url))).rejects.toThrow(/password/)
  })
})

describe('startPostgres', () => {
  it('has what was committed after a crash of the server, and nothing is left at the end', async () => {
    const server = await startPostgres()
    const { rows } = await (async () => {
      await using before = await connectPostgres(server.url)
      await before.query('CREATE TABLE kept AS SELECT 1 AS one')
      return await before.query<{ folder: string }>("SELECT current_setting('data_directory') AS folder")
    })()
    await server.restart('immediate')
    await (async () => {
      await using after = await connectPostgres(server.url)
      expect((await after.query('SELECT * FROM kept')).rows).toEqual([{ one: 1 }])
    })()
    const folder = rows[0]?.folder ?? ''
    expect(existsSync(folder)).toBe(true)
    await server[Symbol.asyncDispose]()
    expect(existsSync(folder)).toBe(false)
    await expect(connectPostgres(server.url)).rejects.toThrow(/ECONNREFUSED/)
  })
})
