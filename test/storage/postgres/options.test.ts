import { describe, expect, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from 'waitpoint/postgres'
import { readPostgresOptions } from '../../../src/storage/postgres/options.ts'

const connectionString = 'postgres://localhost/app'

describe('readPostgresOptions', () => {
  it('has a default for everything but the database', () => {
    expect(readPostgresOptions(connectionString)).toEqual({
      connectionString,
      pool: undefined,
      schema: 'waitpoint',
      listen: true,
      listenCheckMs: 15_000,
      silentMs: 3_000,
      leaveMs: 10_000,
      pollMs: 1_000,
      connections: 4,
      statementTimeoutMs: undefined,
      readPool: undefined,
    })
  })

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['an empty connection string', ''],
    ['a number', 5],
    ['null', null],
    ['two databases', { connectionString, pool: { query: () => 1, connect: () => 1 } }],
    ['a pool that is none', { pool: { query: () => 1 } }],
    ['a schema with a quote', { connectionString, schema: 'a"b' }],
    ['a schema of the system', { connectionString, schema: 'pg_app' }],
    ['a schema with capitals, which people would have to quote', { connectionString, schema: 'App' }],
    [
      'a schema that leaves no room for the name of its channel',
      { connectionString, schema: 'a'.repeat(49) },
    ],
    ['an empty listen', { connectionString, listen: '' }],
    ['a listenCheckMs that is not whole', { connectionString, listenCheckMs: 1.5 }],
    ['a pollMs of 0', { connectionString, pollMs: 0 }],
    ['no connections', { connectionString, connections: 0 }],
    ['a statementTimeoutMs of less than a second', { connectionString, statementTimeoutMs: 999 }],
    [
      'a statementTimeoutMs for a pool, which has its own',
      { pool: { query: () => 1, connect: () => 1 }, statementTimeoutMs: 5_000 },
    ],
    ['a readPool that is none', { connectionString, readPool: 'postgres://replica' }],
    ['a misspelt option', { connectionString, shema: 'app' }],
  ])('refuses %s', (_what, options) => {
    expect(() => postgresStorage(options as PostgresOptions)).toThrow(/^Cannot use /)
  })
})
