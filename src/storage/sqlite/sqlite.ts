import type { SettingStore, Storage } from '../../contract/storage.ts'
import { sqliteChunks } from './chunks.ts'
import { SqliteConnection } from './connection.ts'
import { sqliteCounts } from './counts.ts'
import type { SqliteHandle } from './handle.ts'
import { endSqliteLease, sqliteLeases } from './leases.ts'
import { readSqliteOptions, type SqliteOptions, type SqliteSource } from './options.ts'
import { pruneSqlite } from './prune.ts'
import { sqliteQueues } from './queues.ts'
import { sqliteRuns } from './runs.ts'
import { sqliteSchedules } from './schedules.ts'
import type { Perform } from './session.ts'
import { dueNext, tickSqlite } from './tick.ts'
import { sqliteTokens } from './tokens.ts'
import { SqliteTurns } from './turns.ts'

/** Ended runs and settled tokens are kept for 30 days. */
const RETENTION = { maxAgeMs: 30 * 86_400_000 }
/** Some 10 ms of work. */
const PRUNE_LIMIT = 100

/**
 * A storage in a SQLite file: acknowledged writes are there after a restart, and any number of processes of one host
 * may use the file at once. All calls of one turn are one transaction.
 *
 * Given a path it opens the file with the first engine, by the first there is of `node:sqlite` (Node 22.13 and later),
 * `better-sqlite3` and `libsql`, and closes it with the last. Given an open database of one of these, it uses that and
 * leaves it open. Nothing is loaded or opened before an engine needs it.
 *
 * @example
 * ```ts
 * const engine = createEngine({ tasks: [review], storage: sqliteStorage('app.db') })
 * ```
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function sqliteStorage(given: string | URL | SqliteOptions | SqliteHandle): Storage {
  const connection = connectionTo(readSqliteOptions(given))
  const turns = new SqliteTurns(connection.name, connection.session)
  const perform: Perform = (method, kind) => turns.call(method, kind === 'read')
  return {
    runs: sqliteRuns(perform),
    tokens: sqliteTokens(perform),
    chunks: sqliteChunks(perform),
    settings: sqliteSettings(perform),
    counts: sqliteCounts(perform),
    leases: () => perform(sqliteLeases, 'read'),
    due: (limit) => perform((session) => dueNext(session, limit), 'read'),
    timesOut: true,
    queues: sqliteQueues(perform),
    rates: true,
    debounces: true,
    schedules: sqliteSchedules(perform),
    retention: RETENTION,
    pruneLimit: PRUNE_LIMIT,
    open: () => connection.open(),
    tick: (request) => perform((session) => tickSqlite(session, request)),
    subscribe(owner, listener) {
      const unsubscribe = connection.hints.subscribe(owner, listener)
      connection.probe()
      return unsubscribe
    },
    async leave({ owner, now }) {
      try {
        await perform((session) => endSqliteLease(session, { by: owner, now }))
      } finally {
        connection.leave()
      }
    },
    prune: (request) => perform((session) => pruneSqlite(session, request)),
  }
}

/** Storages that are given one open database share it. */
const shared = new WeakMap<SqliteHandle, SqliteConnection>()

function connectionTo(source: SqliteSource): SqliteConnection {
  const { handle } = source
  const known = handle && shared.get(handle)
  if (known !== undefined) return known
  const connection = new SqliteConnection(source)
  if (handle !== undefined) shared.set(handle, connection)
  return connection
}

function sqliteSettings(perform: Perform): SettingStore {
  return {
    getOrInsert: (name, candidate) =>
      perform(({ database }) => {
        const stored = database.value('SELECT value FROM settings WHERE name = ?', name)
        if (stored !== undefined) return String(stored)
        database.run('INSERT INTO settings (name, value) VALUES (?, ?)', name, candidate)
        return candidate
      }),
  }
}
