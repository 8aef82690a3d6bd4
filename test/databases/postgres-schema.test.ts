import { afterAll, describe, expect, it } from 'vitest'
import { migratePostgres } from '../../src/storage/postgres/schema.ts'
import type { PostgresClient } from '../../src/storage/postgres/pool.ts'
import { LATER_POSTGRES } from './later-step.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

describe('migrate', () => {
  const pool = testPool()
  afterAll(() => pool.end())

  async function onConnection(act: (client: PostgresClient) => Promise<void>): Promise<void> {
    const client = await pool.connect()
    try {
      await act(client)
    } finally {
      client.release()
    }
  }

  async function namesIn(schema: string): Promise<unknown[]> {
    const { rows } = await pool.query(
      'SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) ORDER BY 1',
      [schema],
    )
    return rows.map((row) => (row as { readonly relname: string }).relname)
  }

  const steps = [
    'CREATE TABLE $s.one (a int);',
    'CREATE TABLE $s.two (a int);',
    'CREATE TABLE $s.three (a int);',
  ]

  it('does the steps that are missing, each once, however many start at once', async () => {
    const schema = await freshSchema(pool)
    await onConnection((client) => migratePostgres(client, schema, steps.slice(0, 1)))
    const all = Array.from({ length: 4 }, () =>
      onConnection((client) => migratePostgres(client, schema, steps)),
    )
    await Promise.all(all)
    expect(await namesIn(schema)).toEqual(['one', 'three', 'two', 'version'])
  })

  it('does all missing steps or, when one fails, none of them', async () => {
    const schema = await freshSchema(pool)
    const broken = [steps[0] ?? '', 'CREATE TABLE $s.two (a int); CREATE TABLE $s.two (a int);']
    await expect(onConnection((client) => migratePostgres(client, schema, broken))).rejects.toThrow(
      /already exists/,
    )
    expect(await namesIn(schema)).toEqual([])
    await onConnection((client) => migratePostgres(client, schema, steps))
    expect(await namesIn(schema)).toEqual(['one', 'three', 'two', 'version'])
  })

  it('has the server end it when nothing is heard of the process in the middle', async () => {
    const schema = await freshSchema(pool)
    const step = `CREATE TABLE $s.settings AS SELECT setting::int FROM pg_settings
      WHERE name = 'idle_in_transaction_session_timeout';`
    await onConnection(async (client) => {
      await migratePostgres(client, schema, [step])
      const { rows } = await client.query(`SELECT setting FROM ${schema}.settings`)
      expect(rows).toEqual([{ setting: 30_000 }])
      const after = await client.query('SHOW idle_in_transaction_session_timeout')
      expect(after.rows).toEqual([{ idle_in_transaction_session_timeout: '0' }])
    })
  })

  it('shows no other process the schema between two steps', async () => {
    const schema = await freshSchema(pool)
    await onConnection((client) => migratePostgres(client, schema, steps.slice(0, 1)))
    const seen: unknown[][] = []
    await onConnection(async (client) => {
      const watched: PostgresClient = {
        query: async (text, values) => {
          const answer = await client.query(text, values)
          seen.push(await namesIn(schema))
          return answer
        },
      }
      await migratePostgres(watched, schema, steps)
    })
    const [before, after] = [
      ['one', 'version'],
      ['one', 'three', 'two', 'version'],
    ]
    expect(seen.at(-1)).toEqual(after)
    for (const names of seen) expect([before, after]).toContainEqual(names)
  })

  it('makes the functions and the types of their requests anew with its last step', async () => {
    const schema = await freshSchema(pool)
    await onConnection((client) => migratePostgres(client, schema))
    const names = await namesIn(schema)
    expect(names).toContain('park_request')
    // As a version does whose requests have other members.
    await pool.query(`ALTER TYPE ${schema}.park_request ADD ATTRIBUTE later int`)
    await onConnection((client) => migratePostgres(client, schema, LATER_POSTGRES))
    expect(await namesIn(schema)).toEqual([...names, 'notes', 'notes_pkey'].sort())
    const { rows } = await pool.query(
      `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 ORDER BY attnum`,
      [`${schema}.park_request`],
    )
    expect(rows.map((row) => (row as { readonly attname: string }).attname)).toEqual([
      'id',
      'epoch',
      'parks',
      'by_owner',
      'now',
    ])
  })

  it('changes nothing in a schema of a newer version', async () => {
    const schema = await freshSchema(pool)
    await onConnection((client) => migratePostgres(client, schema, steps))
    const older = onConnection((client) => migratePostgres(client, schema, steps.slice(0, 2)))
    await expect(older).rejects.toThrow(
      /version 3, and this version of waitpoint knows 2: install a newer one/,
    )
  })

  it('changes nothing in a schema of another program', async () => {
    const schema = await freshSchema(pool)
    await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.theirs (a int)`)
    const ours = onConnection((client) => migratePostgres(client, schema, steps))
    await expect(ours).rejects.toThrow('the schema is of another program; name another one')
    expect(await namesIn(schema)).toEqual(['theirs'])
  })

  it('uses an empty schema that exists already', async () => {
    const schema = await freshSchema(pool)
    await pool.query(`CREATE SCHEMA ${schema}`)
    await onConnection((client) => migratePostgres(client, schema, steps))
    expect(await namesIn(schema)).toEqual(['one', 'three', 'two', 'version'])
  })

  it('refuses a server that is too old', async () => {
    const old: PostgresClient = { query: () => Promise.resolve({ rows: [{ number: 130_012 }] }) }
    await expect(migratePostgres(old, 'app', steps)).rejects.toThrow(
      'the server is Postgres 13: 14 or later is needed',
    )
  })
})
