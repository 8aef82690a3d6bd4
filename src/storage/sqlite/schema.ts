import { ID_DIGITS } from '../../primitives/id.ts'
import { LISTED_PREFIXES, NO_INSTANT } from '../id-skew.ts'
import type { SqliteDatabase } from './database.ts'
import { SKEW_SETTINGS } from './id-times.ts'

/** The step that measures how far the instants in ids are from the creation of their records; see `id-times.ts`. */
const MEASURE_ID_TIMES = (['runs', 'tokens'] as const).map(measureIdTimes).join(';')

function measureIdTimes(table: 'runs' | 'tokens'): string {
  const start = LISTED_PREFIXES[table].length + 2
  const digit = (at: number): string => `(instr('${ID_DIGITS}', substr(id, ${start + at}, 1)) - 1)`
  const time = Array.from({ length: 10 }, (_, at) => `${digit(at)} * ${32 ** (9 - at)}`).join(' + ')
  const isMade = `length(id) = ${start + 25} AND substr(id, ${start}) NOT GLOB '*[^0-9a-hjkmnp-tv-z]*'
    AND id GLOB '${LISTED_PREFIXES[table]}_*'`
  return `INSERT INTO settings (name, value)
    SELECT '${SKEW_SETTINGS[table]}', CAST(coalesce(max(CASE WHEN ${isMade}
      THEN abs(${time} - CAST(created_at AS INTEGER)) + 1 ELSE ${NO_INSTANT} END), 0) AS TEXT)
    FROM ${table}${table === 'tokens' ? ` WHERE kind = 'MANUAL'` : ''}`
}

/** Says that a file is a database of ours: `wpnt`. */
const APPLICATION_ID = 0x77706e74

/**
 * The steps from an empty file to the schema of this version, in order. A step that was released is never changed:
 * every difference is a new step.
 *
 * Instants are numbers; an absent value is NULL. `runs.line`, `line_at` and `look_at` follow from the rest of the run:
 * where it stands in line to be claimed (0 goes on, 1 starts) and when it is next to be looked at. `held`: its owner is
 * alive, as far as engines have noticed.
 */
const STEPS: readonly string[] = [
  `
  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    status TEXT NOT NULL,
    payload TEXT, output TEXT, error TEXT,
    attempt INTEGER NOT NULL, policy_attempt INTEGER NOT NULL, interruptions INTEGER NOT NULL,
    owner TEXT, epoch INTEGER NOT NULL,
    slot INTEGER NOT NULL, slot_until NUMERIC, returned INTEGER NOT NULL,
    wake_at NUMERIC, expires_at NUMERIC,
    parent_id TEXT, root_id TEXT NOT NULL,
    tags TEXT, metadata TEXT, streams TEXT,
    queue TEXT NOT NULL, concurrency_key TEXT, options TEXT,
    key_scope TEXT, key_value TEXT, key_expires_at NUMERIC,
    created_at NUMERIC NOT NULL, updated_at NUMERIC NOT NULL, started_at NUMERIC, finished_at NUMERIC,
    lane TEXT NOT NULL, held INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0,
    line INTEGER, line_at NUMERIC, look_at NUMERIC, ended_at NUMERIC,
    claim_number INTEGER, claim_place INTEGER
  );
  CREATE INDEX runs_in_line ON runs (task_id, line, line_at) WHERE line IS NOT NULL;
  CREATE INDEX runs_to_look_at ON runs (look_at) WHERE look_at IS NOT NULL;
  CREATE INDEX runs_by_owner ON runs (owner) WHERE owner IS NOT NULL;
  CREATE INDEX runs_with_slot ON runs (lane) WHERE slot = 1;
  CREATE INDEX runs_reserved ON runs (lane) WHERE reserved = 1;
  CREATE INDEX runs_by_key ON runs (key_scope, key_value) WHERE key_scope IS NOT NULL;
  CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE tokens (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    output TEXT, timeout_at NUMERIC, tags TEXT,
    key_scope TEXT, key_value TEXT, key_expires_at NUMERIC,
    run_id TEXT,
    created_at NUMERIC NOT NULL, completed_at NUMERIC,
    due_at NUMERIC, ended_at NUMERIC
  );
  CREATE INDEX tokens_due ON tokens (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX tokens_by_key ON tokens (key_scope, key_value) WHERE key_scope IS NOT NULL;
  CREATE INDEX tokens_of_run ON tokens (run_id) WHERE kind <> 'MANUAL' AND run_id IS NOT NULL;
  CREATE INDEX tokens_manual ON tokens (id) WHERE kind = 'MANUAL';
  CREATE INDEX tokens_ended ON tokens (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE token_tags (
    tag TEXT NOT NULL, token TEXT NOT NULL,
    PRIMARY KEY (tag, token)
  ) WITHOUT ROWID;
  CREATE INDEX tags_of_token ON token_tags (token);

  CREATE TABLE waits (
    run_id TEXT NOT NULL, token_id TEXT NOT NULL,
    owner TEXT NOT NULL, ready INTEGER NOT NULL DEFAULT 0, place INTEGER NOT NULL,
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

  CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    until NUMERIC, lost INTEGER NOT NULL DEFAULT 0,
    claim INTEGER NOT NULL DEFAULT 0, process TEXT
  ) WITHOUT ROWID;
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE changes (count INTEGER NOT NULL);
  INSERT INTO changes VALUES (0);
  `,
  // Lists: each filter has an index in the order of its pages. A key of a run's own is not listed by anybody but its run.
  `
  CREATE INDEX runs_by_task ON runs (task_id, status, id);
  CREATE TABLE run_tags (
    tag TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (tag, run)
  ) WITHOUT ROWID;
  INSERT INTO run_tags (tag, run) SELECT DISTINCT tag.value, runs.id FROM runs, json_each(runs.tags) AS tag;

  DROP INDEX tokens_manual;
  CREATE INDEX tokens_by_status ON tokens (status, id) WHERE kind = 'MANUAL';
  CREATE INDEX tokens_of_key ON tokens (key_scope, key_value, id) WHERE kind = 'MANUAL' AND key_scope IS NOT run_id;
  DROP INDEX tags_of_token;
  `,
  // The version of the code that executes a run.
  `
  ALTER TABLE runs ADD COLUMN version TEXT;
  `,
  // Lists that are bounded in time read a range of ids.
  MEASURE_ID_TIMES,
  // How far writers outside of a run have got in its streams.
  `
  CREATE TABLE writers (
    run_id TEXT NOT NULL, key TEXT NOT NULL, writer TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (run_id, key, writer)
  ) WITHOUT ROWID;
  `,
  // Where an engine is, and when it last renewed its lease: for people.
  `
  ALTER TABLE owners ADD COLUMN host TEXT;
  ALTER TABLE owners ADD COLUMN heard_at NUMERIC;
  `,
  // What the attempts of a run have thrown.
  `
  ALTER TABLE runs ADD COLUMN attempts_json TEXT;
  `,
  // How much earlier a run stands in line; what is set of queues while engines run.
  `
  ALTER TABLE runs ADD COLUMN priority_ms NUMERIC;
  CREATE TABLE queues (
    name TEXT PRIMARY KEY, paused INTEGER NOT NULL, most NUMERIC, limited_at NUMERIC
  ) WITHOUT ROWID;
  `,
  // The rates of queues, and what has started in the lanes of those that have one.
  `
  ALTER TABLE queues ADD COLUMN rate NUMERIC;
  ALTER TABLE queues ADD COLUMN rate_per NUMERIC;
  ALTER TABLE queues ADD COLUMN rated_at NUMERIC;
  CREATE TABLE queue_starts (
    lane TEXT PRIMARY KEY, starts TEXT NOT NULL, over_at NUMERIC NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX queue_starts_over ON queue_starts (over_at);
  `,
  // By the run that it names, the token that binds a place of a run to another run.
  `
  CREATE INDEX tokens_bound ON tokens (output) WHERE kind = 'BINDING' AND key_scope = run_id;
  `,
  // How far schedules have got: the keys of their runs are instants.
  `
  INSERT OR IGNORE INTO settings (name, value)
  SELECT 'mark ' || key_scope, CAST(max(CAST(key_value AS INTEGER)) AS TEXT) FROM runs
  WHERE key_scope >= 'schedule' AND (key_scope LIKE 'schedule/%' OR key_scope LIKE 'schedules/%') GROUP BY key_scope;
  `,
]

/** The version of the schema that this code reads and writes: how many steps have led to it. */
export const SQLITE_SCHEMA_VERSION: number = STEPS.length

/**
 * Brings a database to the schema of this version: one transaction a step, each of which looks anew under the lock what
 * is to be done, so that several processes may start at once.
 *
 * @throws Error, and changes nothing, when the file is of a newer version or of another program.
 */
export function migrateSqlite(database: SqliteDatabase, steps: readonly string[] = STEPS): void {
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
