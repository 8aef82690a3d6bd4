import { describe, expect, it } from 'vitest'
import type { PostgresPoolClient } from '../../src/storage/postgres/pool.ts'
import { SchemaNames } from '../../src/testing/storages/schema-names.ts'
import { testPool, type TestPool } from './postgres-schemas.ts'

const PREFIX = `names_${process.pid}`

/** Names that are kept by this connection. */
function namesBy(keeper: PostgresPoolClient): SchemaNames {
  const query = (text: string): ReturnType<TestPool['query']> => keeper.query(text)
  return new SchemaNames({ query, connect: async () => keeper }, PREFIX)
}

describe('SchemaNames', () => {
  it('belong to one process while its connection is open, and then to the next one', async () => {
    const pool = testPool(3)
    const [ending, other, next] = await Promise.all([pool.connect(), pool.connect(), pool.connect()])
    const { rows } = await ending.query('SELECT pg_backend_pid() AS pid')
    const names = namesBy(ending)
    expect([await names.next(), await names.next()]).toEqual([`${PREFIX}_1`, `${PREFIX}_2`])
    expect(await namesBy(other).next()).toBe(`${PREFIX}_3`)

    // As if the process had ended; the server takes a moment to see it.
    ending.release(true)
    const { pid } = rows[0] as { readonly pid: number }
    const isThere = async (): Promise<boolean> =>
      (await next.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).rows.length > 0
    while (await isThere());
    expect(await namesBy(next).next()).toBe(`${PREFIX}_1`)
    for (const client of [other, next]) client.release(true)
    await pool.end()
  })
})
