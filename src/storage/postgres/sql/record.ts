import { LIVE_STATUSES } from '../../../contract/run-states.ts'
import { runsWaitingFor } from './plans.ts'
import { RUN_COLUMNS, RUN_FROM_ROW } from '../../../generated/run-record.ts'
import { TOKEN_COLUMNS } from '../../../generated/token-record.ts'
import { OLDEST_FIRST, resumedLine, textList } from '../../sql-rows.ts'

/** A run as JSON, in a statement that has it. `run_json` is for a row that a function has: it is given a copy of all columns. */
export const runAsJson = (row: string): string =>
  `json_build_array(${RUN_COLUMNS.split(', ')
    .map((name) => `${row}.${name}`)
    .join(', ')})`

/** A token as JSON: see {@link runAsJson}. */
export const tokenAsJson = (row: string): string =>
  `json_build_object(${TOKEN_COLUMNS.split(', ')
    .map((name) => `'${name}', ${row}.${name}`)
    .join(', ')})`

/**
 * Parts that all functions share: records as JSON, the place of a run, and the runs that a settled token wakes. A
 * function that reads or changes the waits of a run locks the run first (see `lock.ts`), and looks at the waits in a later
 * statement: a statement sees the snapshot it began with, so that in one statement neither a settle nor a claim would
 * see what the other has done.
 */
export const RECORD_FUNCTIONS: string = `
CREATE FUNCTION $s.run_json(r $s.runs) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN ${runAsJson('r')};
END $$;

CREATE FUNCTION $s.token_json(t $s.tokens) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN ${tokenAsJson('t')};
END $$;

CREATE FUNCTION $s.is_live(status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT status IN (${textList(LIVE_STATUSES)})
$$;

CREATE FUNCTION $s.is_final(status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT NOT $s.is_live(status)
$$;

CREATE FUNCTION $s.place(r $s.runs, at float8) RETURNS $s.runs LANGUAGE plpgsql AS $$
DECLARE
  start_by float8 := CASE WHEN r.attempt = 0 THEN r.expires_at END;
  ahead float8 := coalesce(r.priority_ms, 0);
  due float8;
  is_over boolean;
BEGIN
  r.line := NULL; r.line_at := NULL; r.look_at := NULL; r.ended_at := NULL;
  IF r.status <> 'WAITING' THEN r.reserved := 0; END IF;
  IF r.status = 'QUEUED' THEN
    r.line := 1; r.line_at := r.created_at - ahead; r.look_at := start_by;
  ELSIF r.status = 'DELAYED' THEN
    due := coalesce(r.wake_at, r.created_at);
    IF due <= at THEN
      r.line := 1; r.line_at := due - ahead; r.look_at := start_by;
    ELSE
      r.look_at := least(due, start_by);
    END IF;
  ELSIF r.status = 'EXECUTING' THEN
    IF r.held = 0 THEN r.line := ${resumedLine('r')}; r.line_at := r.created_at - ahead; END IF;
  ELSIF r.status = 'WAITING' THEN
    IF r.held = 0 THEN
      SELECT coalesce(max(w.ready), 0) = 1, min(t.due_at) INTO is_over, due
        FROM $s.waits w LEFT JOIN $s.tokens t ON t.id = w.token_id WHERE w.run_id = r.id;
      IF r.returned = 1 OR is_over OR due <= at THEN
        r.line := 0; r.line_at := r.created_at - ahead;
      ELSE
        r.look_at := due;
      END IF;
    END IF;
  ELSIF r.slot = 1 THEN
    r.look_at := r.slot_until;
  ELSIF $s.is_final(r.status) THEN
    r.ended_at := coalesce(r.finished_at, 0);
  END IF;
  RETURN r;
END $$;

CREATE FUNCTION $s.put_run(r $s.runs, at float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  r := $s.place(r, at);
  UPDATE $s.runs SET${RUN_FROM_ROW},
    held = r.held, reserved = r.reserved, line = r.line, line_at = r.line_at,
    look_at = r.look_at, ended_at = r.ended_at, changed_by = r.changed_by
  WHERE id = r.id;
END $$;

CREATE FUNCTION $s.settle_waits(token text, run_ids text[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  answer json;
  woken text[];
  has_orphans boolean;
BEGIN
  IF cardinality(run_ids) = 0 THEN RETURN NULL; END IF;
  has_orphans := $s.lock_waiters(run_ids);
  WITH made AS (UPDATE $s.waits SET ready = 1 WHERE token_id = token AND ready = 0 RETURNING run_id, owner)
    SELECT array_agg(run_id), json_agg(json_build_array(run_id, owner)) INTO run_ids, answer FROM made;
  IF run_ids IS NULL OR NOT has_orphans THEN RETURN answer; END IF;
  WITH moved AS (
    UPDATE $s.runs SET line = 0, line_at = ${OLDEST_FIRST}, look_at = NULL
    WHERE id = ANY (run_ids) AND held = 0 AND (status || '') = 'WAITING' RETURNING id)
    SELECT array_agg(id) INTO woken FROM moved;
  IF woken IS NULL THEN RETURN answer; END IF;
  RETURN (SELECT json_agg(json_build_array(one->>0, one->>1, (one->>0) = ANY (woken)))
    FROM json_array_elements(answer) AS one);
END $$;

CREATE FUNCTION $s.interrupt_streams(run text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE $s.streams SET ending = '{"reason":"interrupted"}' WHERE run_id = run AND ending IS NULL;
END $$;

CREATE FUNCTION $s.settle_end(run text, streams text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  parents text[];
BEGIN
  DELETE FROM $s.waits WHERE run_id = run;
  IF streams IS NOT NULL THEN PERFORM $s.interrupt_streams(run); END IF;
  parents := ${runsWaitingFor("'run:' || run")};
  IF cardinality(parents) = 0 THEN RETURN NULL; END IF;
  PERFORM $s.lock_at_once(parents);
  RETURN $s.settle_waits('run:' || run, parents);
END $$;

CREATE FUNCTION $s.finish_run(r $s.runs, at float8) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  r.held := 0;
  PERFORM $s.put_run(r, at);
  RETURN json_build_array($s.run_json(r), $s.settle_end(r.id, r.streams));
END $$;

CREATE FUNCTION $s.final_run(r $s.runs, final_status text, at float8) RETURNS $s.runs LANGUAGE plpgsql AS $$
BEGIN
  r.status := final_status;
  r.owner := NULL; r.wake_at := NULL; r.slot := 0; r.slot_until := NULL;
  r.finished_at := greatest(coalesce(r.finished_at, at), coalesce(r.started_at, r.created_at));
  r.updated_at := greatest(r.updated_at, at, r.finished_at);
  RETURN r;
END $$;
`
