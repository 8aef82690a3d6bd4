import { SQLITE_LEASE_TABLE } from '../../generated/lease-record.ts'
import { SQLITE_QUEUE_TABLE } from '../../generated/queue-settings.ts'
import { SQLITE_RUN_TABLE, SQLITE_RUN_TABLE_ADDED } from '../../generated/run-record.ts'
import { SQLITE_TOKEN_TABLE } from '../../generated/token-record.ts'
import { SQLITE_WAIT_TABLE } from '../../generated/wait-record.ts'
import type { SqliteDatabase } from './database.ts'

/** Says that a file is a database of ours: `wpnt`. */
const APPLICATION_ID = 0x77706e74

/**
 * The steps from an empty file to the schema of this version, in order. A step that was released is never changed:
 * every difference is a new step.
 *
 * Instants are numbers; an absent value is NULL. `runs.line`, `line_at` and `look_at` follow from the rest of the run:
 * where it stands in line to be claimed (0 goes on, 1 starts, less is a suspect) and when it is next to be looked at. `held`: its owner is
 * alive, as far as engines have noticed. Each filter of a list has an index in the order of its pages; a key of a run's own is
 * listed for its run only. `owners.executing`: how many of its runs executed when it was lost. `host`, `pid`, `heard_at`: for people. `writers`: how far writers outside of a run have got in its
 * streams. `queue_starts`: what has started in the lanes that have a rate. `tokens_bound`: by the run that it names, the token
 * that binds a place of a run to another run.
 */
export const SQLITE_STEPS: readonly string[] = [
  `
  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ${SQLITE_RUN_TABLE},
    lane TEXT NOT NULL, held INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0,
    line INTEGER, line_at NUMERIC, look_at NUMERIC, ended_at NUMERIC,
    ${SQLITE_RUN_TABLE_ADDED}
  );
  CREATE INDEX runs_in_line ON runs (task_id, line, line_at) WHERE line IS NOT NULL;
  CREATE INDEX runs_to_look_at ON runs (look_at) WHERE look_at IS NOT NULL;
  CREATE INDEX runs_by_owner ON runs (owner) WHERE owner IS NOT NULL;
  CREATE INDEX runs_with_slot ON runs (lane) WHERE slot = 1;
  CREATE INDEX runs_reserved ON runs (lane) WHERE reserved = 1;
  CREATE INDEX runs_by_key ON runs (key_scope, key_value) WHERE key_scope IS NOT NULL;
  CREATE INDEX runs_by_task ON runs (task_id, status, id);
  CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX runs_by_root ON runs (root_id, id) WHERE parent_id IS NOT NULL;
  CREATE INDEX runs_without_parent ON runs (id) WHERE parent_id IS NULL;
  CREATE TABLE run_tags (
    tag TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (tag, run)
  ) WITHOUT ROWID;

  CREATE TABLE tokens (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ${SQLITE_TOKEN_TABLE},
    due_at NUMERIC, ended_at NUMERIC
  );
  CREATE INDEX tokens_due ON tokens (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX tokens_by_key ON tokens (key_scope, key_value) WHERE key_scope IS NOT NULL;
  CREATE INDEX tokens_of_run ON tokens (run_id) WHERE kind <> 'MANUAL' AND run_id IS NOT NULL;
  CREATE INDEX tokens_by_status ON tokens (status, id) WHERE kind = 'MANUAL';
  CREATE INDEX tokens_of_key ON tokens (key_scope, key_value, id) WHERE kind = 'MANUAL' AND key_scope IS NOT run_id;
  CREATE INDEX tokens_bound ON tokens (output) WHERE kind = 'BINDING' AND key_scope = run_id;
  CREATE INDEX tokens_ended ON tokens (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE token_tags (
    tag TEXT NOT NULL, token TEXT NOT NULL,
    PRIMARY KEY (tag, token)
  ) WITHOUT ROWID;

  CREATE TABLE waits (
    ${SQLITE_WAIT_TABLE},
    ready INTEGER NOT NULL DEFAULT 0, place INTEGER NOT NULL,
    PRIMARY KEY (run_id, token_id)
  ) WITHOUT ROWID;
  CREATE INDEX waits_of_token ON waits (token_id);
  CREATE INDEX waits_ready ON waits (owner) WHERE ready = 1;

  CREATE TABLE streams (
    run_id TEXT NOT NULL, key TEXT NOT NULL,
    next INTEGER NOT NULL, segments TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
  ) WITHOUT ROWID;
  CREATE TABLE chunks (
    run_id TEXT NOT NULL, key TEXT NOT NULL, first INTEGER NOT NULL,
    count INTEGER NOT NULL, texts TEXT NOT NULL,
    PRIMARY KEY (run_id, key, first)
  ) WITHOUT ROWID;
  CREATE TABLE writers (
    run_id TEXT NOT NULL, key TEXT NOT NULL, writer TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (run_id, key, writer)
  ) WITHOUT ROWID;

  CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    ${SQLITE_LEASE_TABLE},
    claim INTEGER NOT NULL DEFAULT 0, process TEXT, executing INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE queues (
    name TEXT PRIMARY KEY,
    ${SQLITE_QUEUE_TABLE}
  ) WITHOUT ROWID;
  CREATE TABLE queue_starts (
    lane TEXT PRIMARY KEY, starts TEXT NOT NULL, over_at NUMERIC NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX queue_starts_over ON queue_starts (over_at);
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE changes (count INTEGER NOT NULL);
  INSERT INTO changes VALUES (0);
  `,
]

/** The version of the schema that this code reads and writes: how many steps have led to it. */
export const SQLITE_SCHEMA_VERSION: number = SQLITE_STEPS.length

/**
 * Brings a database to the schema of this version: one transaction a step, each of which looks anew under the lock what
 * is to be done, so that several processes may start at once.
 *
 * @throws Error, and changes nothing, when the file is of a newer version or of another program.
 */
export function migrateSqlite(database: SqliteDatabase, steps: readonly string[] = SQLITE_STEPS): void {
  const version = (): number => versionOf(database, steps.length)
  while (within(database, 'BEGIN', version) < steps.length) {
    within(database, 'BEGIN IMMEDIATE', () => {
      const done = version()
      const step = steps[done]
      if (step === undefined) return
      database.exec(step)
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      database.exec(`PRAGMA user_version = ${done + 1}`)
    })
  }
}

/** In one transaction, so that all reads are of one instant. */
function within<Result>(database: SqliteDatabase, begin: string, act: () => Result): Result {
  database.exec(begin)
  try {
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/**
 * The version of the schema of a database; none where there are no tables yet. Nothing is changed.
 *
 * @throws Error when the file is of another program.
 */
export function sqliteSchemaVersion(database: SqliteDatabase): number | undefined {
  const applicationId = database.get('PRAGMA application_id')?.['application_id']
  const version = Number(database.get('PRAGMA user_version')?.['user_version'])
  if (applicationId !== APPLICATION_ID) {
    const tables = Number(database.value('SELECT count(*) AS value FROM sqlite_master'))
    if (applicationId === 0 && version === 0 && tables === 0) return undefined
    throw new Error('it is a database of another program')
  }
  return version
}

/** How many steps have been done. */
function versionOf(database: SqliteDatabase, known: number): number {
  const version = sqliteSchemaVersion(database) ?? 0
  if (version <= known) return version
  throw new Error(
    `its schema is version ${version}, and this version of waitpoint knows ${known}: install a newer one`,
  )
}
