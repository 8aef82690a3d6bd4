import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SqliteDatabase, plainStatement } from '../../../src/storage/sqlite/database.ts'
import { openDriver } from '../../databases/drivers.ts'

describe('plainStatement', () => {
  it('leaves no number, and says which value goes where', () => {
    expect(plainStatement('SELECT ?2, ?1, ?2')).toEqual({ sql: 'SELECT ?, ?, ?', order: [1, 0, 1] })
    expect(plainStatement('SELECT ?, ?')).toEqual({ sql: 'SELECT ?, ?', order: undefined })
  })
})

describe('inOrder', () => {
  it('gives every numbered parameter its value, however often and in whatever order they come', () => {
    const database = new SqliteDatabase(openDriver(':memory:'), 'array')
    const places = fc.array(fc.nat(11), { minLength: 1, maxLength: 20 })
    const values = fc.array(fc.option(fc.integer()), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(places, values, (wanted, given) => {
        const sql = `SELECT ${wanted.map((place, column) => `?${place + 1} AS c${column}`).join(', ')}`
        expect(database.values(sql, ...given)).toEqual(wanted.map((place) => given[place]))
      }),
    )
    database.close()
  })
})
