import { afterAll, describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { migratePostgres, POSTGRES_SCHEMA_VERSION } from '../../src/storage/postgres/schema.ts'
import { approveTask, NEVER } from './approve-task.ts'
import { type Fixture, releasedFile, releasedSchemas, writeFixture } from './fixtures/fixture.ts'
import { postgresUrl } from './postgres/client.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const PREFIX = 'postgres-schema-'
const versions = Array.from({ length: POSTGRES_SCHEMA_VERSION }, (_, index) => index + 1)
/** There is a dump of each schema that was released. */
const released = releasedSchemas(PREFIX, '.sql')

describe('a Postgres schema that a version has written', () => {
  const pool = testPool()
  afterAll(() => pool.end())

  /** A schema of its own, as the dump of the release has it, or as this version writes it. */
  async function restore(version: number): Promise<{ readonly schema: string; readonly fixture: Fixture }> {
    const schema = await freshSchema(pool)
    if (version === POSTGRES_SCHEMA_VERSION && !released.includes(version))
      return { schema, fixture: await writeFixture(postgresUrl(), schema) }
    const sql = releasedFile(`${PREFIX}${version}.sql`)
      .replaceAll('"fixture".', `"${schema}".`)
      .replaceAll(/\bfixture\b/g, schema)
    await pool.query(`BEGIN; SET LOCAL check_function_bodies = false; ${sql} COMMIT;`)
    // Printed by the program that wrote the dump.
    const fixture = JSON.parse(releasedFile(`${PREFIX}${version}.json`)) as Fixture
    return { schema, fixture }
  }

  /** Columns, indexes and functions. */
  async function contentOf(schema: string): Promise<readonly unknown[]> {
    const { rows } = await pool.query(
      `SELECT c.relname || ' ' || attnum || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull AS text
         FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE relnamespace = to_regnamespace($1) AND attnum > 0 AND relkind IN ('r', 'c')
       UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1
       UNION ALL SELECT relname || ' ' || reloptions::text FROM pg_class WHERE relnamespace = to_regnamespace($1)
       UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = to_regnamespace($1)
       ORDER BY 1`,
      [schema],
    )
    const texts = rows.map((row) => (row as { readonly text: string | null }).text)
    // Each schema has advisory locks of its own, by the number of its name.
    return texts.map((text) => text?.replaceAll(schema, 'schema').replaceAll(/-?\d{6,}/g, 'space'))
  }

  it('is, where it is of the present version, what a fresh one is', async () => {
    // What was released is never changed. Before a release `node scripts/postgres-fixture.mjs postgres://…` writes it.
    expect(versions.slice(0, released.length)).toEqual(released)
    const { schema } = await restore(POSTGRES_SCHEMA_VERSION)
    const fresh = await freshSchema(pool)
    const client = await pool.connect()
    await migratePostgres(client, fresh)
    client.release()
    expect(await contentOf(schema)).toEqual(await contentOf(fresh))
  })

  it.each(versions)(
    'of version %i is brought to the present one, and all that is in it goes on',
    async (version) => {
      const { schema, fixture } = await restore(version)
      await using clock = testClock({ start: new Date(fixture.writtenAt) })
      let hung = 0
      const tasks = [
        approveTask(),
        task({ id: 'hang', run: async () => void (hung += 1) }),
        task({ id: 'nap', run: async () => wait.until({ date: NEVER }) }),
      ]
      const storage = postgresStorage({ pool, schema, listen: false })
      await using t = await createTestEngine({ tasks, storage, clock, baseUrl: 'https://example.test' })
      const { engine } = t
      const { rows } = await pool.query(`SELECT version FROM ${schema}.version`)
      expect(rows).toEqual([{ version: POSTGRES_SCHEMA_VERSION }])

      const { parked } = fixture
      expect((await engine.wait.retrieveToken(parked.token)).url).toBe(parked.url)
      await t.post(parked.url, 7)
      await clock.advance('2m')
      expect(await engine.runs.retrieve(parked.run)).toMatchObject({
        status: 'COMPLETED',
        output: { token: parked.token, value: 7, effect: expect.stringMatching(/^parked of/) as unknown },
        metadata: { stage: 'draft' },
      })
      expect(await engine.runs.retrieve(fixture.interrupted)).toMatchObject({ status: 'COMPLETED' })
      expect(hung).toBe(1)
      expect((await engine.runs.retrieve(fixture.delayed)).status).toBe('DELAYED')
      const { data } = await engine.runs.list({ status: 'COMPLETED', tag: 'old' })
      expect(data.map(({ id }) => id)).toEqual([parked.run, fixture.finished])
    },
  )
})
