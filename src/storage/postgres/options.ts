import { requireMethods, requireName, requireOptions, requireWhole, show } from '../../primitives/require.ts'
import type { PostgresPool } from './pool.ts'
import { isSql, type PostgresSql, SqlPool } from './sql-pool.ts'

/** How a Postgres database is used. */
export interface PostgresOptions {
  /**
   * The address of the database. A pool is opened with the first engine and closed with the last. Either this or `pool`.
   *
   * @default none
   */
  readonly connectionString?: string
  /**
   * A pool of `pg`, or what `postgres(url)` of the package `postgres` answers, which is left open. Either this or
   * `connectionString`. See `docs/postgres.md`.
   *
   * @default none
   */
  readonly pool?: PostgresPool | PostgresSql
  /**
   * Where the tables are: a schema of its own, which is made when it is not there.
   *
   * @default `'waitpoint'`
   */
  readonly schema?: string
  /**
   * How engines of different processes hear of each other: over a connection that is kept for it, over one to the address
   * given here when `pool` goes through a pooler, or, with `false`, by looking every `pollMs`.
   *
   * @default `true`
   */
  readonly listen?: boolean | string
  /**
   * How often the connection that listens is asked whether it is still there; 10 to 3,600,000.
   *
   * @default `15_000`
   */
  readonly listenCheckMs?: number
  /**
   * How often to look whether another process has changed something, where no message tells, and the longest pause of a
   * call that waits for a lock; 10 to 60,000.
   *
   * @default `1_000`
   */
  readonly pollMs?: number
  /**
   * How many statements may be under way at once, 1 to 100.
   *
   * @unit statements
   * @default `4`
   */
  readonly connections?: number
  /**
   * How long the server may work on one statement, 1,000 to 3,600,000. Only with `connectionString`: a pool has a
   * `statement_timeout` of its own. See `docs/postgres.md`.
   *
   * @default that of the role, and of the server
   */
  readonly statementTimeoutMs?: number
  /**
   * A pool of `pg` or `postgres` on a read replica, for what may lag: `runs.list`, and counts. When it cannot answer, the server of the storage
   * does. It is left open. See `docs/postgres.md`.
   *
   * @default none
   */
  readonly readPool?: Pick<PostgresPool, 'query'> | PostgresSql
}

/** The checked options: a connection string or a pool. */
export interface PostgresSource {
  readonly connectionString: string | undefined
  readonly pool: PostgresPool | undefined
  readonly schema: string
  readonly listen: boolean | string
  readonly listenCheckMs: number
  /** How long a connection may be silent before the server is asked whether it works on a statement. */
  readonly silentMs: number
  /** How long an engine that closes waits for the server. */
  readonly leaveMs: number
  readonly pollMs: number
  readonly connections: number
  readonly statementTimeoutMs: number | undefined
  readonly readPool: Pick<PostgresPool, 'query'> | undefined
}

const NAMES = {
  connectionString: true,
  pool: true,
  schema: true,
  listen: true,
  listenCheckMs: true,
  pollMs: true,
  connections: true,
  statementTimeoutMs: true,
  readPool: true,
}
/** At most 48 characters: the rest of the 63 bytes of a name is for the channel of its messages. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,47}$/
const LISTEN_CHECK_MS = 15_000
const SILENT_MS = 3_000
const LEAVE_MS = 10_000
const POLL_MS = 1_000
const CONNECTIONS = 4

/** @throws TypeError or RangeError that says what is wrong with it. */
export function readPostgresOptions(given: string | PostgresOptions): PostgresSource {
  if (typeof given === 'string') return readPostgresOptions({ connectionString: given })
  requireOptions(given, 'the options of postgresStorage', NAMES)
  const { connectionString, pool, schema = 'waitpoint', listen = true } = given
  const { listenCheckMs = LISTEN_CHECK_MS, pollMs = POLL_MS, connections = CONNECTIONS } = given
  const { statementTimeoutMs, readPool } = given
  requireDatabase(given)
  if (typeof schema !== 'string' || !SCHEMA.test(schema) || schema.startsWith('pg_')) {
    throw new RangeError(
      `Cannot use schema ${show(schema)}: it must be of a-z, 0-9 and _, at most 48, and not begin with a digit or pg_`,
    )
  }
  if (typeof listen !== 'boolean') requireName(listen, 'listen')
  requireWhole(listenCheckMs, 'listenCheckMs', { from: 10, to: 3_600_000 })
  requireWhole(pollMs, 'pollMs', { from: 10, to: 60_000 })
  requireWhole(connections, 'connections', { from: 1, to: 100 })
  const timing = { listen, listenCheckMs, pollMs, connections, statementTimeoutMs }
  return {
    connectionString,
    pool: isSql(pool) ? new SqlPool(pool) : pool,
    schema,
    ...timing,
    silentMs: Math.min(SILENT_MS, listenCheckMs),
    leaveMs: LEAVE_MS,
    readPool: isSql(readPool) ? new SqlPool(readPool) : readPool,
  }
}

function requireDatabase({ connectionString, pool, readPool, statementTimeoutMs }: PostgresOptions): void {
  if ((connectionString === undefined) === (pool === undefined)) {
    throw new TypeError('Cannot use the options of postgresStorage: give either connectionString or pool')
  }
  if (connectionString !== undefined) requireName(connectionString, 'connectionString')
  if (pool !== undefined && !isSql(pool)) requireMethods(pool, 'pool', ['query', 'connect'])
  if (readPool !== undefined && !isSql(readPool)) requireMethods(readPool, 'readPool', ['query'])
  if (statementTimeoutMs === undefined) return
  // Less would end statements that wait for a lock, as long as they may.
  requireWhole(statementTimeoutMs, 'statementTimeoutMs', { from: 1_000, to: 3_600_000 })
  if (pool === undefined) return
  throw new TypeError(
    'Cannot use statementTimeoutMs together with pool: give the pool a `statement_timeout`, which is an option of pg, and one of ' +
      '`connection` of postgres',
  )
}
