import { BATCH_FUNCTIONS } from './sql/batch.ts'
import { CHUNK_FUNCTIONS } from './sql/chunk.ts'
import { CLAIM_FUNCTIONS } from './sql/claim.ts'
import { COUNT_FUNCTIONS } from './sql/count.ts'
import { codeOf, INSUFFICIENT_PRIVILEGE, isRolledBack } from './errors.ts'
import { LEASE_FUNCTIONS } from './sql/lease.ts'
import { LIST_FUNCTIONS } from './sql/list.ts'
import { LOCK_FUNCTIONS } from './sql/lock.ts'
import type { PostgresClient } from './pool.ts'
import { PRUNE_FUNCTIONS } from './sql/prune.ts'
import { QUEUE_FUNCTIONS } from './sql/queue.ts'
import { RECORD_FUNCTIONS } from './sql/record.ts'
import { RUN_FUNCTIONS } from './sql/run.ts'
import { SCHEDULE_FUNCTIONS } from './sql/schedule.ts'
import { DROPPED_FUNCTIONS, TABLES } from './tables.ts'
import { TOKEN_FUNCTIONS } from './sql/token.ts'

/** All functions of the schema and the types of their requests, in place of those that an older version has made. */
export const POSTGRES_FUNCTIONS: string = [
  DROPPED_FUNCTIONS,
  LOCK_FUNCTIONS,
  RECORD_FUNCTIONS,
  RUN_FUNCTIONS,
  TOKEN_FUNCTIONS,
  BATCH_FUNCTIONS,
  LEASE_FUNCTIONS,
  CLAIM_FUNCTIONS,
  LIST_FUNCTIONS,
  COUNT_FUNCTIONS,
  CHUNK_FUNCTIONS,
  PRUNE_FUNCTIONS,
  SCHEDULE_FUNCTIONS,
  QUEUE_FUNCTIONS,
].join('')

/**
 * The steps from nothing to the schema of this version, in order. The changes of tables by a released step are never
 * edited: every difference is a new step. Functions hold no records: the last step makes all of them anew. `$s` is the schema, `$space` the number of its advisory locks.
 */
export const POSTGRES_STEPS: readonly string[] = [TABLES + POSTGRES_FUNCTIONS]

/** The version of the schema that this code reads and writes: how many steps have led to it. */
export const POSTGRES_SCHEMA_VERSION: number = POSTGRES_STEPS.length

const OLDEST_SERVER = 140_000
/** The advisory lock that connections share which listen. */
const LISTENING = 2051
const MOST_RETRIES = 10
/** How long the server hears nothing in the middle of a migration: then the network is away, and others wait for the lock. */
const IDLE_MS = 30_000
/** Isolation levels under which every statement sees what was committed before it: two names of one. */
export const READS_COMMITTED: ReadonlySet<string> = new Set(['read committed', 'read uncommitted'])

/**
 * Brings a schema to that of this version: all steps in one transaction, under a lock and looking anew what is to be done, so that
 * several processes may start at once, and processes of an older version never see the schema between two steps.
 *
 * @throws Error, and changes nothing, when the server is too old or read-only, the schema newer or of another program, or the role may
 *   not create it: then with the SQL for a role that may.
 */
export async function migratePostgres(
  client: PostgresClient,
  schema: string,
  steps: readonly string[] = POSTGRES_STEPS,
): Promise<void> {
  await requireServer(client)
  const known = steps.length
  for (let retries = 0; (await versionOf(client, { schema, known })) < known; retries += 1) {
    await client.query('BEGIN')
    try {
      // An index of all that is kept takes longer than any statement of an engine may.
      await client.query(
        `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
      )
      await client.query('SELECT pg_advisory_xact_lock($1, 0)', [spaceOf(schema)])
      for (let done = await versionOf(client, { schema, known }); done < known; done += 1)
        await client.query(stepSql({ schema, done, steps }))
      await client.query('COMMIT')
    } catch (cause) {
      await client.query('ROLLBACK')
      if (codeOf(cause) === INSUFFICIENT_PRIVILEGE) throw await refusal(client, schema, cause)
      // It locks tables that processes of an older version use in another order.
      if (!isRolledBack(cause) || retries === MOST_RETRIES) throw cause
    }
  }
}

/** The SQL of the steps after `done`, for a role with more rights than that of the program. */
export function schemaSql(
  schema: string,
  { role, done = 0 }: { readonly role: string; readonly done?: number },
): string {
  return `BEGIN;\nSET LOCAL statement_timeout = 0;\n${missingSql(schema, done)}\n${grantsSql(schema, role)}\nCOMMIT;\n`
}

/** The SQL that gives the role of a program its rights. */
export function grantsSql(schema: string, role: string): string {
  const name = quoted(schema)
  return [
    `GRANT USAGE ON SCHEMA ${name} TO ${quoted(role)};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${quoted(role)};`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${name} TO ${quoted(role)};`,
  ].join('\n')
}

/** The SQL of the steps after `done`. */
export function missingSql(schema: string, done: number): string {
  const missing = POSTGRES_STEPS.slice(done)
  return missing.map((_, at) => stepSql({ schema, done: done + at, steps: POSTGRES_STEPS })).join('')
}

/** The number of a schema among those of the database, for its advisory locks. */
function spaceOf(schema: string): number {
  let hash = 0x811c9dc5
  for (const unit of `waitpoint ${schema}`) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193)
  return hash | 0
}

/** Asks a function of the schema: its parameter is a list of requests, its answer one of answers. */
export function functionSql(schema: string, name: string): string {
  return `SELECT ${quoted(schema)}.${name}($1::json)::text AS answer`
}

/** Asks a function, which gives up after so many milliseconds for one lock. */
export function patientSql(schema: string, name: string, patienceMs: number): string {
  return `SELECT set_config('lock_timeout', '${patienceMs}', true), ${quoted(schema)}.${name}($1::json)::text AS answer`
}

/** Asks a function so that each request is undone by itself if it needs a lock for longer: see `try_each`. */
export function apartSql(schema: string, name: string, patienceMs: number): string {
  return `SELECT set_config('lock_timeout', '${patienceMs}', true),
    ${quoted(schema)}.try_each('${name}', $1::json, $2::text[])::text AS answer`
}

/** Marks a connection as one that listens to the messages of a schema, for as long as it lives. */
export function listeningSql(schema: string): string {
  return `SELECT pg_advisory_lock_shared(${spaceOf(schema)}, ${LISTENING})`
}

/**
 * Whether others listen: connections marked so, and owners other than those in the first parameter, for processes that share a connection of a
 * pooler to listen.
 */
export function othersSql(schema: string): string {
  return `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${spaceOf(schema) >>> 0}::oid
      AND objid = ${LISTENING} AND objsubid = 2 AND pid <> pg_backend_pid()
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    OR EXISTS (SELECT 1 FROM ${quoted(schema)}.owners WHERE lost = 0 AND owner <> ALL ($1::text[])) AS others`
}

/** Which schema of which database of which server, as long as all three are what they are now: the column `place`. */
export function placeSql(schema: string): string {
  return `concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    to_regclass('${quoted(schema)}.version')::oid) AS place`
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

interface Step {
  readonly schema: string
  readonly done: number
  readonly steps: readonly string[]
}

function stepSql({ schema, done, steps }: Step): string {
  // Not IF NOT EXISTS: that asks for the right to make one although it is there.
  const begin =
    done === 0
      ? `DO $do$ BEGIN IF to_regnamespace('${quoted(schema)}') IS NULL THEN CREATE SCHEMA $s; END IF; END $do$;
CREATE TABLE $s.version (version int NOT NULL);
`
      : ''
  const end =
    done === 0 ? 'INSERT INTO $s.version VALUES (1);' : `UPDATE $s.version SET version = ${done + 1};`
  return `${begin}${steps[done]}${end}`
    .replaceAll('$space', String(spaceOf(schema)))
    .replaceAll('$s.', () => `${quoted(schema)}.`)
    .replaceAll('$s;', () => `${quoted(schema)};`)
}

/** How many steps have been done. */
async function versionOf(
  client: PostgresClient,
  { schema, known }: { readonly schema: string; readonly known: number },
): Promise<number> {
  const version = await storedVersion(client, schema)
  if (version === undefined || version <= known) return version ?? 0
  throw new Error(
    `its schema is version ${version}, and this version of waitpoint knows ${known}: install a newer one`,
  )
}

/**
 * The version of a schema; none where there are no tables yet. Nothing is changed.
 *
 * @throws Error when the schema is of another program.
 */
export async function storedVersion(
  client: Pick<PostgresClient, 'query'>,
  schema: string,
): Promise<number | undefined> {
  const { rows } = await client.query(
    `SELECT (SELECT count(*)::int FROM pg_class WHERE relnamespace = n.oid) AS relations,
       to_regclass($2) IS NOT NULL AS is_ours
     FROM pg_namespace n WHERE nspname = $1`,
    [schema, `${quoted(schema)}.version`],
  )
  const [found] = rows as readonly { readonly relations: number; readonly is_ours: boolean }[]
  if (found === undefined || found.relations === 0) return undefined
  if (!found.is_ours) throw new Error('the schema is of another program; name another one')
  const version = await client.query(`SELECT version FROM ${quoted(schema)}.version`)
  return (version.rows as readonly { readonly version: number }[])[0]?.version
}

interface Server {
  readonly number: number
  readonly isolation: string
  readonly is_read_only: boolean
}

/** @throws Error when the server is too old, read-only, or would lose wake-ups. */
export async function requireServer(client: PostgresClient): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('transaction_isolation') AS isolation,
       current_setting('transaction_read_only') = 'on' AS is_read_only`,
  )
  const [server] = rows as readonly Server[]
  if (server === undefined) return
  const { number, isolation, is_read_only: isReadOnly } = server
  if (number < OLDEST_SERVER)
    throw new Error(`the server is Postgres ${Math.floor(number / 10_000)}: 14 or later is needed`)
  if (isReadOnly)
    throw new Error('its transactions are read-only: name the primary server, and a role that may write')
  // With one snapshot for all statements of a function a settled token would not see waits that began meanwhile.
  if (!READS_COMMITTED.has(isolation))
    throw new Error(
      `its transactions are ${isolation.toUpperCase()}, which loses wake-ups: have default_transaction_isolation be ` +
        `'read committed' for the role of the program`,
    )
}

/** The role that the program has logged in with. */
export async function roleOf(client: PostgresClient): Promise<string> {
  const { rows } = await client.query('SELECT current_user::text AS name')
  return (rows as readonly { readonly name: string }[])[0]?.name ?? ''
}

async function refusal(client: PostgresClient, schema: string, cause: unknown): Promise<Error> {
  const role = await roleOf(client)
  const done = (await storedVersion(client, schema)) ?? 0
  return new Error(
    `role "${role}" may not ${done === 0 ? 'create' : 'change'} schema "${schema}"; run this SQL with a role that may:\n\n` +
      schemaSql(schema, { role, done }),
    { cause },
  )
}
