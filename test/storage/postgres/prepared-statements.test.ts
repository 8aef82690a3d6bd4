import { describe, expect, it } from 'vitest'
import type { OwnPool } from '../../../src/storage/postgres/pool.ts'
import { PreparedStatements } from '../../../src/storage/postgres/prepared-statements.ts'

interface Asked {
  readonly name?: string
  readonly text: string
}

/** A pool that refuses named statements with an error of this code, and what it is asked. */
function poolOf(code?: string): { readonly pool: OwnPool; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const pool = {
    query(statement: string | Asked) {
      const one = typeof statement === 'string' ? { text: statement } : statement
      asked.push(one)
      const isRefused = code !== undefined && one.name !== undefined
      return isRefused
        ? Promise.reject(Object.assign(new Error('refused'), { code }))
        : Promise.resolve({ rows: [one.text] })
    },
  }
  // It has what is used of one.
  return { pool: pool as unknown as OwnPool, asked }
}

describe('PreparedStatements', () => {
  it('gives each text a name of its own that Postgres takes as a whole', async () => {
    const { pool, asked } = poolOf()
    const statements = new PreparedStatements(pool)
    for (const text of ['SELECT 1', 'SELECT 2', 'SELECT 1']) await statements.query(text, [])
    const [one, two, again] = asked.map(({ name = '' }) => name)
    expect(again).toBe(one)
    expect(two).not.toBe(one)
    expect(Buffer.byteLength(one ?? '')).toBeLessThan(64)
    // Another process may have prepared it over the same connection.
    const other = poolOf()
    await new PreparedStatements(other.pool).query('SELECT 2', [])
    expect(other.asked[0]?.name).toBe(two)
  })

  it.each(['26000', '42P05'])('asks all statements as they are from the first error %s on', async (code) => {
    const { pool, asked } = poolOf(code)
    const statements = new PreparedStatements(pool)
    for (const text of ['SELECT 1', 'SELECT 2'])
      expect((await statements.query(text, [])).rows).toEqual([text])
    expect(asked.map(({ name, text }) => [name === undefined, text])).toEqual([
      [false, 'SELECT 1'],
      [true, 'SELECT 1'],
      [true, 'SELECT 2'],
    ])
  })

  it('makes no statement twice that failed for another reason', async () => {
    const { pool, asked } = poolOf('40001')
    await expect(new PreparedStatements(pool).query('SELECT 1', [])).rejects.toThrow('refused')
    expect(asked).toHaveLength(1)
  })
})
