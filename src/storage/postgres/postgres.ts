import type { Storage } from '../../contract/storage.ts'
import { postgresChunks } from './chunks.ts'
import { PostgresConnection } from './connection.ts'
import { postgresCounts } from './counts.ts'
import {
  endPostgresLease,
  postgresDue,
  postgresLeases,
  postgresTime,
  prunePostgres,
  tickPostgres,
} from './leases.ts'
import { type PostgresOptions, type PostgresSource, readPostgresOptions } from './options.ts'
import { postgresRuns } from './runs.ts'
import { postgresQueues } from './queues.ts'
import { postgresSchedules } from './schedules.ts'
import { postgresTokens } from './tokens.ts'
import type { CallKind } from './turns.ts'

/** Ended runs and settled tokens are kept for 30 days. */
const RETENTION = { maxAgeMs: 30 * 86_400_000 }

const SETTINGS: CallKind = { name: 'get_settings', isRepeatable: true }

/**
 * A storage in a Postgres database, 14 or later: any number of processes on any number of machines share its runs, tokens
 * and streams. All calls of one kind in one turn are one statement.
 *
 * Given a connection string it opens a pool of connections with the first engine, with the `pg` that is installed, and
 * closes it with the last. Given a pool of `pg`, it uses that and leaves it open. Its tables are in a schema of their own,
 * which is made, and brought up to date, when an engine opens it.
 *
 * @example
 * ```ts
 * const storage = postgresStorage('postgres://localhost/app')
 * ```
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function postgresStorage(given: string | PostgresOptions): Storage {
  return postgresStorageOf(readPostgresOptions(given))
}

/** Of checked options. */
export function postgresStorageOf(source: PostgresSource): Storage {
  const connection = new PostgresConnection(source)
  const { ask, isAt, hints, newCall } = connection
  const learnLimits = (queues: Iterable<string>): void => hints.learnLimits(queues)
  const session = { schema: source.schema, ask, isAt, hints, newCall, learnLimits }
  return {
    runs: postgresRuns(session),
    tokens: postgresTokens(session),
    chunks: postgresChunks(session),
    settings: {
      async getOrInsert(name, candidate) {
        return String(await ask(SETTINGS, { name, candidate }))
      },
    },
    counts: postgresCounts(session),
    leases: () => postgresLeases(session),
    due: (limit) => postgresDue(session, limit),
    timesOut: true,
    queues: postgresQueues(session),
    rates: true,
    debounces: true,
    claimsNew: true,
    resumesWaiting: true,
    schedules: postgresSchedules(session),
    retention: RETENTION,
    joinsTransactions: true,
    open: () => connection.open(),
    time: () => postgresTime(session),
    tick: (request) => tickPostgres(session, request),
    subscribe: (owner, listener) => hints.subscribe(owner, listener),
    untilLeft: connection.untilLeft,
    leave: (request) => connection.leave(() => endPostgresLease(session, request)),
    prune: (request) => prunePostgres(session, request),
  }
}
