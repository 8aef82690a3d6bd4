import { describe, expect, it } from 'vitest'
import { SqliteDatabase } from '../../../src/storage/sqlite/database.ts'
import { migrateSqlite } from '../../../src/storage/sqlite/schema.ts'
import { openDriver, temporaryFolder } from '../../databases/drivers.ts'

function openDatabase(path = ':memory:'): SqliteDatabase {
  return new SqliteDatabase(openDriver(path), 'array')
}

function versionOf(database: SqliteDatabase): unknown {
  return database.get('PRAGMA user_version')?.['user_version']
}

function tablesOf(database: SqliteDatabase): unknown {
  return database.value(`SELECT group_concat(name) AS value FROM sqlite_master WHERE type = 'table'`)
}

const STEPS = ['CREATE TABLE one (a)', 'ALTER TABLE one ADD COLUMN b', 'CREATE TABLE two (c)']

describe('migrate', () => {
  it('does the steps that were not done yet, in order and once', () => {
    const database = openDatabase()
    migrateSqlite(database, STEPS.slice(0, 1))
    expect([versionOf(database), tablesOf(database)]).toEqual([1, 'one'])
    migrateSqlite(database, STEPS)
    database.run('INSERT INTO one (a, b) VALUES (1, 2)')
    migrateSqlite(database, STEPS)
    expect([versionOf(database), tablesOf(database)]).toEqual([3, 'one,two'])
    expect(database.get('SELECT b FROM one')).toMatchObject({ b: 2 })
    database.close()
  })

  it('leaves nothing of a step that fails', () => {
    const database = openDatabase()
    expect(() =>
      migrateSqlite(database, ['CREATE TABLE one (a)', 'CREATE TABLE two (b); CREATE nonsense']),
    ).toThrow()
    expect([versionOf(database), tablesOf(database)]).toEqual([1, 'one'])
    database.close()
  })

  it('refuses a newer schema, and changes nothing', () => {
    const database = openDatabase()
    migrateSqlite(database, STEPS)
    expect(() => migrateSqlite(database, STEPS.slice(0, 1))).toThrow(
      'its schema is version 3, and this version of waitpoint knows 1: install a newer one',
    )
    expect([versionOf(database), tablesOf(database)]).toEqual([3, 'one,two'])
    database.close()
  })

  it('refuses the database of another program, and changes nothing', () => {
    const database = openDatabase()
    database.exec('CREATE TABLE theirs (a)')
    expect(() => migrateSqlite(database)).toThrow('it is a database of another program')
    expect(tablesOf(database)).toBe('theirs')
    database.close()
  })

  it('is done by one of two that start at once', () => {
    using folder = temporaryFolder()
    const path = folder.file('a.db')
    const [one, other] = [openDatabase(path), openDatabase(path)]
    migrateSqlite(one, STEPS)
    migrateSqlite(other, STEPS)
    expect(versionOf(other)).toBe(3)
    one.close()
    other.close()
  })
})
