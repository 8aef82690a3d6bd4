import { codeOf, INSUFFICIENT_PRIVILEGE, isLocked, postgresMessage } from './errors.ts'
import { readPostgresOptions } from './options.ts'
import { type PostgresClient, withOnePool } from './pool.ts'
import {
  grantsSql,
  migratePostgres,
  missingSql,
  POSTGRES_SCHEMA_VERSION,
  requireServer,
  roleOf,
  schemaSql,
  storedVersion,
} from './schema.ts'

/** How long a trial waits for a lock that a program has. */
const TRIAL_LOCK_MS = 5_000

/** A schema, and what brings it to the version of this code. */
export interface PostgresMigration {
  /** None: there are no tables yet. */
  readonly version: number | undefined
  readonly known: number
  /** The SQL of the missing steps in one transaction, with the rights for the role; empty if none is missing. */
  sql(role?: string): Promise<string>
  /** Carries the missing steps out, and takes them back: the rights are there, and no program holds a lock. */
  tryOut(): Promise<void>
  /** Carries the missing steps out, and gives a role its rights. */
  carryOut(role?: string): Promise<void>
}

/**
 * Opens a schema to bring it up to date.
 *
 * @throws Error when the server cannot be reached, or the schema is newer than this code or of another program.
 */
export async function migratingPostgres<Result>(
  given: { readonly connectionString: string; readonly schema?: string },
  work: (migration: PostgresMigration) => Promise<Result>,
): Promise<Result> {
  const { schema } = readPostgresOptions(given)
  return withOnePool(
    given.connectionString,
    { what: `bring Postgres schema "${schema}" up to date` },
    async (pool) => {
      const client = await pool.connect()
      try {
        return await work(await migrationOf(client, schema))
      } finally {
        client.release()
      }
    },
  )
}

async function migrationOf(client: PostgresClient, schema: string): Promise<PostgresMigration> {
  await requireServer(client)
  const known = POSTGRES_SCHEMA_VERSION
  const version = await storedVersion(client, schema)
  if (version !== undefined && version > known)
    throw new Error(
      `its schema is version ${version}, and this version of waitpoint knows ${known}: install a newer one`,
    )
  const done = version ?? 0
  return {
    version,
    known,
    sql: async (role) =>
      done === known ? '' : schemaSql(schema, { role: role ?? (await roleOf(client)), done }),
    tryOut: () => tryOut(client, missingSql(schema, done)),
    async carryOut(role) {
      await migratePostgres(client, schema)
      if (role !== undefined) await client.query(grantsSql(schema, role))
    },
  }
}

async function tryOut(client: PostgresClient, sql: string): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL lock_timeout = ${TRIAL_LOCK_MS}; SET LOCAL statement_timeout = 0`)
    await client.query(sql)
  } catch (cause) {
    throw trialError(cause)
  } finally {
    await client.query('ROLLBACK')
  }
}

function trialError(cause: unknown): unknown {
  if (isLocked(cause))
    return new Error(
      `a transaction of another program has held a table for ${TRIAL_LOCK_MS / 1_000} s; stop the programs that use it first`,
      { cause },
    )
  if (codeOf(cause) !== INSUFFICIENT_PRIVILEGE) return cause
  return new Error(`${postgresMessage(cause)}; have a role with more rights run what --sql prints`, { cause })
}
