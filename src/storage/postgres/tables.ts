import { POSTGRES_LEASE_TABLE } from '../../generated/lease-record.ts'
import { POSTGRES_QUEUE_TABLE } from '../../generated/queue-settings.ts'
import { POSTGRES_RUN_TABLE, POSTGRES_RUN_TABLE_ADDED } from '../../generated/run-record.ts'
import { POSTGRES_TOKEN_TABLE } from '../../generated/token-record.ts'
import { POSTGRES_WAIT_TABLE } from '../../generated/wait-record.ts'

/**
 * The tables whose rows are updated, or come and go. Vacuum comes at a small part of them instead of a fifth, which of ten million
 * records would be two million dead ones.
 */
const VACUUMED = ['runs', 'tokens', 'waits', 'streams', 'chunks', 'run_tags', 'token_tags']

/**
 * The tables. Instants are numbers, flags are 0 or 1, an absent value is NULL. `runs.line`, `line_at` and `look_at` follow
 * from the rest of the run: where it stands in line to be claimed (0 goes on, 1 starts, less is a suspect) and when it is next to be looked
 * at. `held`: its owner is alive, as far as other owners have noticed. `owners.company`: others were there since its last tick.
 * `owners.executing`: how many of its runs executed when it was lost. `host`, `pid`, `heard_at`: for people. `streams.shared`: the runs that write the last segment of a stream, once there are
 * others than the one that has it (see `stream-writers.ts`). `queue_starts`: what has started in the lanes that have a rate, as two
 * lists, instants in order and how many at each. The newest record of a key is the last entry of its part of an index, however many
 * are kept. `tokens_bound`: by the run that it names, the token that binds a place of a run to another run.
 * `changed_by`, `settled_by`: the call that did it, by which a caller that lost the answer recognises it. `id || ''` is the
 * order of ids in an index by something else (see `sql/list.ts`).
 */
export const TABLES: string = `
CREATE SEQUENCE $s.places;

CREATE TABLE $s.runs (
  id text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  ${POSTGRES_RUN_TABLE},
  lane text COLLATE "C" NOT NULL, held int NOT NULL, reserved int NOT NULL,
  line int, line_at float8, look_at float8, ended_at float8,
  changed_by text,
  ${POSTGRES_RUN_TABLE_ADDED}
) WITH (fillfactor = 80);
CREATE INDEX runs_in_line ON $s.runs (task_id, line, line_at, seq) WHERE line IS NOT NULL;
CREATE INDEX runs_to_look_at ON $s.runs (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX runs_by_owner ON $s.runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_with_slot ON $s.runs (lane) WHERE slot = 1;
CREATE INDEX runs_reserved ON $s.runs (lane) WHERE reserved = 1;
CREATE INDEX runs_by_key ON $s.runs (key_scope, key_value, seq) WHERE key_scope IS NOT NULL;
CREATE INDEX runs_by_status ON $s.runs (status, task_id, (id || ''));
CREATE INDEX runs_ended ON $s.runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_by_root ON $s.runs (root_id, (id || '')) WHERE parent_id IS NOT NULL;

CREATE TABLE $s.tokens (
  id text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  ${POSTGRES_TOKEN_TABLE},
  due_at float8, ended_at float8, settled_by text, changed_by text
) WITH (fillfactor = 80);
CREATE INDEX tokens_due ON $s.tokens (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tokens_by_key ON $s.tokens (key_scope, key_value, seq) WHERE key_scope IS NOT NULL;
CREATE INDEX tokens_bound ON $s.tokens (output) WHERE kind = 'BINDING' AND key_scope = run_id;
CREATE INDEX tokens_of_run ON $s.tokens (run_id) WHERE kind <> 'MANUAL' AND run_id IS NOT NULL;
CREATE INDEX tokens_by_status ON $s.tokens (status, (id || '')) WHERE kind = 'MANUAL';
CREATE INDEX tokens_ended ON $s.tokens (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE $s.run_tags (
  tag text COLLATE "C" NOT NULL, run_id text COLLATE "C" NOT NULL, PRIMARY KEY (tag, run_id)
);
CREATE TABLE $s.token_tags (
  tag text COLLATE "C" NOT NULL, token_id text COLLATE "C" NOT NULL, PRIMARY KEY (tag, token_id)
);

CREATE TABLE $s.waits (
  ${POSTGRES_WAIT_TABLE},
  ready int NOT NULL, place bigint NOT NULL,
  PRIMARY KEY (run_id, token_id)
) WITH (fillfactor = 80);
CREATE INDEX waits_of_token ON $s.waits (token_id);
CREATE INDEX waits_ready ON $s.waits (owner) WHERE ready = 1;

CREATE TABLE $s.streams (
  run_id text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
  next int NOT NULL, before json NOT NULL,
  attempt int NOT NULL, first int NOT NULL, ending json, shared jsonb,
  PRIMARY KEY (run_id, key)
) WITH (fillfactor = 50);
CREATE TABLE $s.chunks (
  run_id text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, first int NOT NULL,
  count int NOT NULL, texts text NOT NULL,
  PRIMARY KEY (run_id, key, first)
);

CREATE TABLE $s.writers (
  run_id text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, writer text COLLATE "C" NOT NULL,
  last bigint NOT NULL,
  PRIMARY KEY (run_id, key, writer)
) WITH (fillfactor = 50);

CREATE TABLE $s.owners (
  owner text COLLATE "C" PRIMARY KEY,
  ${POSTGRES_LEASE_TABLE},
  company int NOT NULL, claim float8 NOT NULL, executing int
) WITH (fillfactor = 20);
CREATE TABLE $s.queues (
  name text COLLATE "C" PRIMARY KEY,
  ${POSTGRES_QUEUE_TABLE}
);
CREATE TABLE $s.queue_starts (
  lane text COLLATE "C" PRIMARY KEY, instants float8[] NOT NULL, counts float8[] NOT NULL, over_at float8 NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE $s.settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
${VACUUMED.map(
  (
    table,
  ) => `ALTER TABLE $s.${table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
`,
).join('')}`

/** Nothing but functions needs a function or the type of a request: no index, no column. */
export const DROPPED_FUNCTIONS = `
DO $do$
DECLARE
  space oid := (SELECT relnamespace FROM pg_class WHERE oid = '$s.version'::regclass);
  one text;
BEGIN
  FOR one IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = space LOOP
    EXECUTE 'DROP FUNCTION ' || one;
  END LOOP;
  FOR one IN SELECT reltype::regtype FROM pg_class WHERE relnamespace = space AND relkind = 'c' LOOP
    EXECUTE 'DROP TYPE ' || one;
  END LOOP;
END $do$;
`
