import { describe, expect, it } from 'vitest'
import { type PostgresSql, SqlPool } from '../../../src/storage/postgres/sql-pool.ts'

interface Asked {
  readonly text: string
  readonly values?: readonly unknown[] | undefined
}

/** As much of `postgres` as the storage uses. A parameter is told with its type. */
function fakeSql(asked: Asked[], options: object = {}): PostgresSql {
  const unsafe: PostgresSql['unsafe'] = (text, values) => {
    asked.push(values === undefined ? { text } : { text, values })
    return Promise.resolve([])
  }
  const sql = (): never => {
    throw new Error('a template')
  }
  return Object.assign(sql, { unsafe, typed: (value: unknown, type: number) => [type, value], options })
}

describe('SqlPool', () => {
  it('sends texts, and lists of texts, as the type text', async () => {
    const asked: Asked[] = []
    const pool = new SqlPool(fakeSql(asked))
    await pool.query('SELECT $1, $2, $3', ['{"a":1}', ['a"b', 'c\\d', 'e,f', null, ''], 7])
    expect(asked[0]?.values).toEqual([[25, '{"a":1}'], [25, String.raw`{"a\"b","c\\d","e,f",NULL,""}`], 7])
  })

  it('sends a statement without parameters as it is', async () => {
    const asked: Asked[] = []
    await new SqlPool(fakeSql(asked)).query('BEGIN; COMMIT')
    expect(asked).toEqual([{ text: 'BEGIN; COMMIT' }])
  })

  it('asks nothing more over a lent connection that has ended', async () => {
    const asked: Asked[] = []
    const made: { onclose: () => void }[] = []
    const make = (options: { onclose: () => void }): object => {
      made.push(options)
      return Object.assign(fakeSql(asked), { end: () => Promise.resolve() })
    }
    const pool = new SqlPool(fakeSql([], { host: ['here'] }), () => make)
    const client = await pool.connect()
    let ends = 0
    client.on('end', () => (ends += 1))
    await client.query('BEGIN')
    expect(made).toMatchObject([{ host: ['here'], max: 1 }])
    made[0]?.onclose()
    await expect(client.query('COMMIT')).rejects.toMatchObject({ code: '08006' })
    expect([asked, ends]).toEqual([[{ text: 'BEGIN' }], 1])
    client.release()
    await pool.end()
  })

  it('says what to install when it cannot lend a connection', async () => {
    const pool = new SqlPool(fakeSql([]), () => {
      throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' })
    })
    await expect(pool.connect()).rejects.toThrow(/run `npm install postgres`$/)
  })
})
