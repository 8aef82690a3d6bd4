import { OLDEST_FIRST, SUSPECTS } from '../../sql-rows.ts'
import { insertFunction } from './insert.ts'
import { allRequests, BY_INDEX, isOfAttempt, onlyRequest, requestType, runsWaitingFor } from './plans.ts'
import { runAsJson } from './record.ts'

/**
 * A new run that its insert claims. It is if its owner would claim it next: if no run stands in line for it, or would if a tick
 * or a claim looked, if nothing is set of its queue nor being changed, and its lease is live. A claim of the owner with a higher number makes sure that no insert before claims any more; it waits for the row of the
 * owner, which the insert takes only if it is free. All but the queue is asked once for a turn, as long as it is for one owner: where a snapshot is
 * open, that reads past all runs that have left the line.
 */
const INSERT_RUNS = insertFunction({
  table: 'runs',
  noun: 'run',
  row: 'r',
  members: ', push json, bind json, claim_tasks text[], claim_version text, claim_number float8, mark float8',
  lock: 'lock_inserted(requests, held)',
  locksFirst: 'q.push IS NOT NULL',
  variables: `  pushed json;
  asked $s.insert_run_request;
  set_queues text[];
  is_free boolean;
  is_claimed boolean;
`,
  first: `    IF q.mark IS NOT NULL THEN
      INSERT INTO $s.settings AS s (name, value) VALUES ('mark ' || r.key_scope, q.mark::text)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE s.value::float8 < q.mark;
    END IF;
    IF q.bind IS NOT NULL THEN
      SELECT o.* INTO holder FROM $s.tokens b JOIN $s.runs o ON o.id = b.output::json #>> '{}'
        WHERE b.key_scope = q.bind->>'key_scope' AND b.key_value = q.bind->>'key_value' ORDER BY b.seq DESC LIMIT 1;
      IF FOUND THEN
        answers[place] := json_build_array(CASE WHEN q.again IS TRUE AND holder.id = r.id THEN 0 ELSE 1 END,
          $s.run_json(holder));
        CONTINUE;
      END IF;
    END IF;
`,
  holdsOn: 'q.mark IS NOT NULL',
  meetHolder: `      IF FOUND AND q.push IS NOT NULL THEN
        pushed := CASE WHEN holder.id <> r.id THEN $s.push_run(holder, q.push, q.now) END;
        IF pushed IS NOT NULL THEN
          IF q.bind IS NOT NULL THEN PERFORM $s.bind_run(q.bind, holder.id); END IF;
          answers[place] := json_build_array(1, pushed);
          CONTINUE;
        END IF;
        holder.key_expires_at := '-Infinity';
      END IF;
`,
  answerHolder: `        answers[place] := json_build_array(1, $s.run_json(holder));
`,
  fillRow: `    r.seq := nextval('$s.places'); r.held := 0; r.reserved := 0;
    IF q.now > asked.now
      OR (q.claim_tasks, q.by_owner, q.claim_number) IS DISTINCT FROM (asked.claim_tasks, asked.by_owner, asked.claim_number) THEN
      asked := q;
      is_free := q.claim_tasks IS NOT NULL AND pg_try_advisory_xact_lock_shared($space, 2050);
      IF is_free THEN
        SELECT ARRAY(SELECT name FROM $s.queues ORDER BY name) INTO set_queues FROM $s.owners
          WHERE owner = q.by_owner AND lost = 0 AND claim <= q.claim_number
            AND NOT EXISTS (SELECT 1 FROM $s.owners WHERE lost = 0 AND until <= q.now)
            AND NOT EXISTS (SELECT 1 FROM $s.runs WHERE look_at <= q.now)
            AND NOT EXISTS (SELECT 1 FROM $s.runs WHERE task_id = ANY (q.claim_tasks) AND line IS NOT NULL)
          FOR KEY SHARE SKIP LOCKED;
        is_free := FOUND;
      END IF;
    END IF;
    is_claimed := is_free AND r.status = 'QUEUED' AND (r.expires_at > q.now) IS NOT FALSE
      AND r.queue <> ALL (set_queues);
    IF is_claimed THEN
      r.status := 'EXECUTING'; r.owner := q.by_owner; r.held := 1; r.slot := 1; r.wake_at := NULL;
      r.attempt := r.attempt + 1; r.policy_attempt := r.policy_attempt + 1; r.epoch := r.epoch + 1;
      r.started_at := coalesce(r.started_at, q.now); r.updated_at := greatest(r.updated_at, q.now);
      r.version := q.claim_version;
    ELSE
      r := $s.place(r, q.now);
      is_free := is_free AND r.line IS NULL AND (r.look_at <= q.now) IS NOT TRUE;
    END IF;
`,
  whenStored: `      IF q.bind IS NOT NULL THEN PERFORM $s.bind_run(q.bind, r.id); END IF;
`,
  answerNew: `CASE WHEN is_claimed THEN json_build_array(0, ${runAsJson('r')}, true) ELSE '[0]' END`,
  answerAgain: 'json_build_array(0, $s.run_json(holder))',
})

/** No run has finished before it started. */
const FINISHED_AT = 'greatest(q.finished_at, coalesce(r.started_at, r.created_at))'

/** What the end `q` changes of the run `r`. */
export const END: string = `status = q.status, output = q.output, error = q.error, owner = NULL, slot = 0, slot_until = NULL,
      wake_at = NULL, held = 0, reserved = 0, line = NULL, line_at = NULL, look_at = NULL,
      finished_at = ${FINISHED_AT}, ended_at = ${FINISHED_AT},
      updated_at = greatest(r.updated_at, q.now, ${FINISHED_AT}), changed_by = q.call`

/** Beside the id of the run `r`: the end `q` is allowed. */
export const MAY_END: string = `r.epoch = coalesce(q.epoch, r.epoch) AND (r.status || '') = ANY (q.statuses)`

/** The members of an end. */
export const END_MEMBERS = `id text, statuses text[], epoch int, status text, output text,
    error text, finished_at float8, now float8, call text, again boolean`

/** What the park `q` changes of a run. */
export const PARK = `status = 'WAITING', slot = 0, slot_until = NULL, interruptions = 0, parks = q.parks,
        updated_at = greatest(r.updated_at, q.now)`

/** Beside the id of a run: it is of the attempt of the park or resume `q`, and has parked that often or, `ahead` of the park, one time less. */
const isInPark = (row: string, status: string, ahead = 0): string =>
  `${isOfAttempt(row, ['q.epoch', 'q.by_owner'], status)} AND ${ahead === 0 ? `${row}.parks = q.parks` : `coalesce(${row}.parks, 0) = q.parks - ${String(ahead)}`}`

const IS_TO_PARK: string = isInPark('r', 'EXECUTING', 1)

/** Beside the id of the run `r`: the park `q` is of its attempt, and its owner has it. */
export const MAY_PARK: string = `${IS_TO_PARK} AND r.held = 1`

/** The members of a park. */
export const PARK_MEMBERS = 'id text, epoch int, parks int, by_owner text, now float8'

/** What the resume `q` changes of a run. */
export const RESUME_RUN: string = `status = 'EXECUTING', slot = 1, reserved = 0, updated_at = greatest(e.updated_at, q.now),
        line = CASE WHEN e.held = 0 THEN e.interruptions + 1 - ${SUSPECTS} END, line_at = CASE WHEN e.held = 0 THEN ${OLDEST_FIRST} END, look_at = NULL`

/** Beside the id of the run `e`: the resume `q` is of its attempt. */
export const MAY_RESUME: string = isInPark('e', 'WAITING')

/** The members of a resume. */
export const RESUME_MEMBERS =
  'id text, epoch int, parks int, by_owner text, now float8, queue_limit float8, is_hinted boolean'

/** The functions for runs. Each takes the requests of a turn and answers them in order; each run is in one of them. */
export const RUN_FUNCTIONS: string = `${requestType('park_request', PARK_MEMBERS)}${requestType('end_request', END_MEMBERS)}${requestType('resume_request', RESUME_MEMBERS)}
CREATE FUNCTION $s.push_run(old $s.runs, push json, at float8) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs;
  wake float8 := push->>'wake_at';
BEGIN
  IF old.status <> 'DELAYED' OR old.attempt > 0 OR coalesce(old.wake_at, at) <= at
    OR wake > old.created_at + (push->>'within')::float8 THEN RETURN NULL; END IF;
  r := json_populate_record(old, push->'change');
  r.epoch := old.epoch + 1;
  r.wake_at := greatest(old.wake_at, wake);
  r.expires_at := old.expires_at + (r.wake_at - old.wake_at);
  r.updated_at := greatest(old.updated_at, at);
  IF r.tag_list IS DISTINCT FROM old.tag_list THEN
    DELETE FROM $s.run_tags WHERE run_id = r.id AND tag = ANY (old.tag_list);
    PERFORM $s.tag_run(r.id, r.tag_list);
  END IF;
  UPDATE $s.runs SET payload = r.payload, options = r.options WHERE id = r.id;
  PERFORM $s.put_run(r, at);
  RETURN $s.run_json(r);
END $$;

CREATE FUNCTION $s.bind_run(bind json, run text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t $s.tokens;
BEGIN
  t.id := '';
  t := json_populate_record(t, bind);
  t.output := to_json(run)::text; t.seq := nextval('$s.places'); t.ended_at := t.completed_at;
  INSERT INTO $s.tokens SELECT t.*;
END $$;
${INSERT_RUNS}
CREATE FUNCTION $s.free_keys(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  r $s.runs;
  is_freed boolean;
  answers json[] := '{}';
BEGIN
  PERFORM $s.lock_keys(requests);
  PERFORM $s.lock_runs(ARRAY(
      SELECT (SELECT o.id FROM $s.runs o WHERE o.key_scope = x.scope AND o.key_value = x.value ORDER BY o.seq DESC LIMIT 1)
      FROM json_to_recordset(requests) AS x(scope text, value text)),
    ARRAY(SELECT x.fence_run FROM json_to_recordset(requests) AS x(fence_run text)), '{}');
  FOR q IN SELECT * FROM json_to_recordset(requests) AS x(scope text, value text, now float8, again boolean,
      fence_run text, fence_epoch int, by_owner text) LOOP
    IF q.fence_run IS NOT NULL AND NOT $s.holds(q.fence_run, q.fence_epoch, q.by_owner) THEN
      answers := answers || '"stale"'::json;
      CONTINUE;
    END IF;
    SELECT * INTO r FROM $s.runs WHERE key_scope = q.scope AND key_value = q.value ORDER BY seq DESC LIMIT 1;
    IF NOT FOUND THEN
      answers := answers || 'null'::json;
      CONTINUE;
    END IF;
    is_freed := q.now < coalesce(r.key_expires_at, 'Infinity');
    IF is_freed THEN UPDATE $s.runs SET key_expires_at = least(created_at, q.now) WHERE id = r.id; END IF;
    answers := answers || json_build_array(r.id, is_freed OR q.again IS TRUE AND r.key_expires_at <= r.created_at);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.get_marks(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
BEGIN
  RETURN (SELECT json_agg((
      SELECT json_agg((SELECT value::float8 FROM $s.settings WHERE name = 'mark ' || one.scope) ORDER BY one.place)
      FROM json_array_elements_text(asked.scopes) WITH ORDINALITY AS one(scope, place)) ORDER BY asked.place)
    FROM json_array_elements(requests) WITH ORDINALITY AS asked(scopes, place));
END $$;

CREATE FUNCTION $s.get_runs(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
DECLARE
  one text;
  r $s.runs;
  answers json[] := '{}';
BEGIN
  FOR one IN SELECT json_array_elements_text(requests) LOOP
    SELECT * INTO r FROM $s.runs WHERE id = one;
    answers := answers || CASE WHEN FOUND THEN $s.run_json(r) ELSE 'null' END;
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.get_runs_among(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
BEGIN
  RETURN (SELECT json_agg(CASE WHEN r.id IS NOT NULL THEN $s.run_json(r) END ORDER BY asked.place)
  FROM json_array_elements(requests) WITH ORDINALITY AS asked(request, place)
  CROSS JOIN LATERAL json_to_record(asked.request) AS q(id text, task_ids text[], tags text[], any_tag boolean)
  LEFT JOIN $s.runs r ON r.id = q.id AND (r.task_id = ANY (q.task_ids) OR r.tag_list && q.tags
    OR (q.any_tag AND cardinality(r.tag_list) > 0)));
END $$;

CREATE FUNCTION $s.awaited_by(run text, is_ready int) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array($s.token_json(t), $s.run_json(r)) ORDER BY w.place), '[]')
  FROM $s.waits w LEFT JOIN $s.tokens t ON t.id = w.token_id
    LEFT JOIN $s.runs r ON w.token_id LIKE 'run:%' AND r.id = substr(w.token_id, 5)
  WHERE w.run_id = run AND w.ready = is_ready AND (t.id IS NOT NULL OR r.id IS NOT NULL));
END $$;

CREATE FUNCTION $s.open_waits(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
BEGIN
  RETURN (SELECT json_agg($s.awaited_by(asked.id, 0) ORDER BY asked.place)
  FROM json_array_elements_text(requests) WITH ORDINALITY AS asked(id, place));
END $$;

CREATE FUNCTION $s.asked_runs(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
BEGIN
  RETURN (SELECT json_agg(json_build_array(
    (SELECT coalesce(json_agg($s.token_json(t) ORDER BY t.created_at, t.id), '[]') FROM $s.tokens t
      WHERE t.key_scope = asked.id AND t.key_expires_at IS NULL AND t.run_id = asked.id AND r.id IS NOT NULL),
    (SELECT coalesce(json_agg($s.run_json(child) ORDER BY child.created_at, child.id), '[]') FROM $s.runs child
      WHERE child.key_scope = asked.id AND child.key_expires_at IS NULL AND r.id IS NOT NULL)) ORDER BY asked.place)
  FROM json_array_elements_text(requests) WITH ORDINALITY AS asked(id, place)
  LEFT JOIN $s.runs r ON r.id = asked.id);
END $$;

CREATE FUNCTION $s.changed_before(run text, by_call text) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT json_build_array(${runAsJson('r')}, $s.ready_waits('run:' || run))
    FROM $s.runs r WHERE id = run AND changed_by = by_call);
END $$;

CREATE FUNCTION $s.update_run(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  old $s.runs;
  r $s.runs;
  to_status text := q.change->>'status';
BEGIN
  SELECT * INTO old FROM $s.runs WHERE id = q.id FOR UPDATE;
  IF q.again IS TRUE AND old.changed_by = q.call THEN RETURN $s.changed_before(q.id, q.call); END IF;
  IF old.id IS NULL OR old.status <> ALL (q.statuses) OR old.epoch <> q.epoch THEN RETURN NULL; END IF;
  r := json_populate_record(old, q.change);
  r.changed_by := q.call;
  r.updated_at := greatest(old.updated_at, q.now);
  IF r.tag_list IS DISTINCT FROM old.tag_list THEN
    DELETE FROM $s.run_tags WHERE run_id = r.id AND tag = ANY (old.tag_list);
    PERFORM $s.tag_run(r.id, r.tag_list);
  END IF;
  IF old.slot = 0 THEN r.slot := 0; END IF;
  IF r.slot = 0 THEN r.slot_until := NULL; END IF;
  IF $s.is_final(old.status) THEN
    IF to_status <> old.status THEN RETURN NULL; END IF;
    PERFORM $s.put_run(r, q.now);
  ELSIF $s.is_final(to_status) THEN
    r.owner := NULL; r.wake_at := NULL;
    r.finished_at := greatest(coalesce(r.finished_at, q.now), coalesce(r.started_at, r.created_at));
    r.updated_at := greatest(r.updated_at, r.finished_at);
    IF coalesce(q.change->>'slot', '0') <> '1' THEN r.slot := 0; r.slot_until := NULL; END IF;
    RETURN $s.finish_run(r, q.now);
  ELSIF r.status IN ('EXECUTING', 'WAITING') THEN
    IF r.owner IS NULL THEN r.slot := 0; r.slot_until := NULL; r.held := 0; END IF;
    PERFORM $s.put_run(r, q.now);
  ELSE
    DELETE FROM $s.waits WHERE run_id = r.id;
    r.owner := NULL; r.slot := 0; r.slot_until := NULL; r.held := 0;
    PERFORM $s.put_run(r, q.now);
  END IF;
  RETURN json_build_array($s.run_json(r), NULL);
END $$;

CREATE FUNCTION $s.update_runs(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answers json[] := '{}';
  is_alone boolean := json_array_length(requests) = 1;
BEGIN
  IF NOT is_alone THEN PERFORM $s.lock_updated(requests); END IF;
  FOR q IN SELECT * FROM json_to_recordset(requests)
    AS x(id text, statuses text[], epoch int, change json, now float8, call text, again boolean)
  LOOP
    IF is_alone THEN PERFORM $s.lock_updated_alone(q.id); END IF;
    answers := answers || $s.update_run(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.end_run(q $s.end_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  ended json;
  ended_streams text;
  parents text[];
BEGIN
  PERFORM 1 FROM $s.runs WHERE id = q.id FOR UPDATE;
  UPDATE $s.runs AS r SET ${END}
    WHERE r.id = q.id AND ${MAY_END}
    RETURNING ${runAsJson('r')}, streams INTO ended, ended_streams;
  IF FOUND THEN
    DELETE FROM $s.waits WHERE run_id = q.id;
    parents := ${runsWaitingFor("'run:' || q.id")};
    -- Most runs have no streams, and no run waits for them.
    IF ended_streams IS NULL AND cardinality(parents) = 0 THEN RETURN json_build_array(ended, NULL); END IF;
    RETURN json_build_array(ended, $s.settle_end(q.id, ended_streams));
  END IF;
  IF q.again IS TRUE THEN RETURN $s.changed_before(q.id, q.call); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION $s.end_runs(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.end_request;
  place int := 0;
  parents text[];
  answers json[];
  is_done boolean;
BEGIN
  IF json_array_length(requests) = 1 THEN
    q := ${onlyRequest('end_request')};
    parents := ${runsWaitingFor("'run:' || q.id")};
    IF cardinality(parents) > 0 THEN PERFORM $s.lock_runs(ARRAY[q.id], '{}', parents); END IF;
    RETURN json_build_array($s.end_run(q));
  END IF;
  PERFORM $s.lock_updated(requests);
  SELECT * INTO answers, is_done FROM $s.end_batch(requests);
  IF is_done THEN RETURN array_to_json(answers); END IF;
  FOR q IN ${allRequests('end_request')} LOOP
    place := place + 1;
    CONTINUE WHEN answers[place] IS NOT NULL;
    answers[place] := $s.end_run(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.park_orphan(q $s.park_request) RETURNS $s.runs LANGUAGE plpgsql AS $$
DECLARE
  known $s.runs;
BEGIN
  SELECT * INTO known FROM $s.runs AS r WHERE r.id = q.id AND ${IS_TO_PARK} FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  known.status := 'WAITING'; known.slot := 0; known.slot_until := NULL; known.interruptions := 0; known.parks := q.parks;
  known.updated_at := greatest(known.updated_at, q.now);
  PERFORM $s.put_run(known, q.now);
  RETURN known;
END $$;

CREATE FUNCTION $s.park_run(q $s.park_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  parked json;
  known $s.runs;
BEGIN
  UPDATE $s.runs AS r SET ${PARK} WHERE r.id = q.id AND ${MAY_PARK} RETURNING ${runAsJson('r')} INTO parked;
  IF FOUND THEN RETURN parked; END IF;
  known := $s.park_orphan(q);
  IF known.id IS NULL THEN
    SELECT * INTO known FROM $s.runs AS r WHERE r.id = q.id AND ${isInPark('r', 'WAITING')};
  END IF;
  RETURN CASE WHEN known.id IS NOT NULL THEN $s.run_json(known) END;
END $$;

CREATE FUNCTION $s.park_runs(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.park_request;
  place int := 0;
  answers json[];
  is_done boolean;
BEGIN
  IF json_array_length(requests) = 1 THEN
    q := ${onlyRequest('park_request')};
    RETURN json_build_array($s.park_run(q));
  END IF;
  SELECT * INTO answers, is_done FROM $s.park_batch(requests);
  IF is_done THEN RETURN array_to_json(answers); END IF;
  FOR q IN ${allRequests('park_request')} LOOP
    place := place + 1;
    CONTINUE WHEN answers[place] IS NOT NULL;
    -- Those that are parked by now came after it in the order of locks.
    PERFORM 1 FROM $s.runs AS r WHERE r.id = q.id AND ${IS_TO_PARK} FOR UPDATE NOWAIT;
    answers[place] := $s.park_run(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.resumed(run text, record json, is_hinted boolean) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  IF is_hinted IS NOT TRUE THEN RETURN json_build_object('run', record); END IF;
  RETURN json_build_object('run', record, 'tokens', $s.awaited_by(run, 1));
END $$;

CREATE FUNCTION $s.resume_run(q $s.resume_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs;
  resumed json;
BEGIN
  IF q.queue_limit IS NOT NULL THEN
    SELECT * INTO r FROM $s.runs AS e WHERE e.id = q.id AND ${MAY_RESUME} FOR NO KEY UPDATE;
    IF FOUND AND (SELECT count(*) FROM $s.runs WHERE slot = 1 AND lane = r.lane) >= q.queue_limit THEN
      IF r.held = 1 THEN UPDATE $s.runs SET reserved = 1 WHERE id = r.id; END IF;
      RETURN '"full"';
    END IF;
  END IF;
  UPDATE $s.runs AS e SET ${RESUME_RUN} WHERE e.id = q.id AND ${MAY_RESUME} RETURNING ${runAsJson('e')} INTO resumed;
  IF NOT FOUND THEN
    SELECT ${runAsJson('e')} INTO resumed FROM $s.runs AS e WHERE e.id = q.id AND ${isInPark('e', 'EXECUTING')};
    IF NOT FOUND THEN RETURN '"stale"'; END IF;
  END IF;
  RETURN $s.resumed(q.id, resumed, q.is_hinted);
END $$;

CREATE FUNCTION $s.resume_limited(q $s.resume_request, limits jsonb) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  IF limits IS NOT NULL THEN
    q.queue_limit := coalesce((limits->>(SELECT queue FROM $s.runs WHERE id = q.id))::float8, q.queue_limit);
  END IF;
  RETURN $s.resume_run(q);
END $$;

CREATE FUNCTION $s.resume_runs(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.resume_request;
  queues text[] := '{}';
  limits_set jsonb;
  place int := 0;
  answers json[];
  is_done boolean;
BEGIN
  IF json_array_length(requests) = 1 THEN
    q := ${onlyRequest('resume_request')};
    IF q.queue_limit IS NOT NULL THEN queues := ARRAY(SELECT queue FROM $s.runs WHERE id = q.id); END IF;
    limits_set := ($s.lock_limits(queues, false)).limits;
    RETURN json_build_array($s.resume_limited(q, limits_set));
  END IF;
  queues := ARRAY(SELECT r.queue FROM (${allRequests('resume_request')}) AS x
    JOIN $s.runs r ON r.id = x.id WHERE x.queue_limit IS NOT NULL);
  limits_set := ($s.lock_limits(queues, false)).limits;
  IF limits_set IS NULL AND cardinality(queues) = 0 THEN
    SELECT * INTO answers, is_done FROM $s.resume_batch(requests);
    IF is_done THEN RETURN array_to_json(answers); END IF;
  END IF;
  FOR q IN ${allRequests('resume_request')} LOOP
    place := place + 1;
    CONTINUE WHEN answers[place] IS NOT NULL;
    IF is_done IS NOT NULL THEN
      -- Those that wait by now came after it in the order of locks.
      PERFORM 1 FROM $s.runs AS e WHERE e.id = q.id AND ${MAY_RESUME} FOR NO KEY UPDATE NOWAIT;
    END IF;
    answers[place] := $s.resume_limited(q, limits_set);
  END LOOP;
  RETURN array_to_json(answers);
END $$;
`
