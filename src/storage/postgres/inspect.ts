import { inspectRecords, type InspectedRow, type StorageInspection } from '../inspection.ts'
import { readPostgresOptions } from './options.ts'
import { withOnePool } from './pool.ts'
import { POSTGRES_SCHEMA_VERSION, quoted, storedVersion } from './schema.ts'

/**
 * Looks into a schema of a Postgres database. Engines that use it go on.
 *
 * @throws Error when the server cannot be reached, or the schema is of another program.
 */
export async function inspectPostgres(
  given: { readonly connectionString: string; readonly schema?: string },
  { keptMs, isBrief = false }: { readonly keptMs: number; readonly isBrief?: boolean },
): Promise<StorageInspection> {
  const { schema } = readPostgresOptions(given)
  return withOnePool(given.connectionString, { what: `open Postgres schema "${schema}"` }, async (pool) => {
    const ask = async (sql: string): Promise<readonly InspectedRow[]> => {
      const { rows } = await pool.query(sql.replaceAll('$s.', () => `${quoted(schema)}.`))
      return rows as readonly InspectedRow[]
    }
    const [time] = await ask('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
    const now = Number(time?.['now'])
    const version = await storedVersion(pool, schema)
    const [rights] =
      version === undefined
        ? []
        : await ask(`SELECT has_table_privilege('$s.version', 'UPDATE') AS may_write`)
    const mayWrite = rights?.['may_write'] === true
    const empty = {
      schema: { version, known: POSTGRES_SCHEMA_VERSION },
      mayWrite,
      now,
      sizes: {},
      damage: [],
    }
    if (isBrief || version !== POSTGRES_SCHEMA_VERSION) return empty
    const sizes = await ask(
      `SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
       WHERE relnamespace = to_regnamespace('${quoted(schema)}') AND relkind = 'r' ORDER BY 2 DESC LIMIT 4`,
    )
    return {
      ...empty,
      sizes: Object.fromEntries(sizes.map((row) => [String(row['name']), Number(row['bytes'])])),
      records: await inspectRecords(ask, { now, keptMs }),
    }
  })
}
