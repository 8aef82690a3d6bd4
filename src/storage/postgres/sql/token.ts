import { insertFunction } from './insert.ts'
import {
  allRequests,
  BY_INDEX,
  holdAttempt,
  IS_DUE,
  IS_READY,
  isOfAttempt,
  onlyRequest,
  requestType,
  runsWaitingFor,
} from './plans.ts'
import { runAsJson, tokenAsJson } from './record.ts'

const INSERT_TOKENS = insertFunction({
  table: 'tokens',
  noun: 'token',
  row: 't',
  lock: 'lock_fences(requests)',
  variables: `  due record;
  is_done boolean;
`,
  inBatch: `    SELECT * INTO answers, is_done FROM $s.insert_token_batch(requests);
    IF is_done THEN RETURN array_to_json(answers); END IF;
`,
  answerHolder: `        IF holder.due_at <= q.now THEN PERFORM $s.lock_due_at_once(holder.id); END IF;
        SELECT * INTO due FROM $s.settle_due(holder, q.now, t.id, q.again);
        answers[place] := json_build_array(1, $s.token_json(due.t), due.now_settled, due.ready);
`,
  fillRow: `    t.seq := nextval('$s.places');
    IF t.status = 'WAITING' THEN t.due_at := t.timeout_at; ELSE t.ended_at := coalesce(t.completed_at, 0); END IF;
`,
  answerNew: `'[0]'::json`,
  answerAgain: 'json_build_array(0, $s.token_json(holder))',
})

/** What the completion `q` changes of the token `o`. */
export const SETTLE = `status = CASE WHEN q.times_out THEN 'TIMED_OUT' ELSE 'COMPLETED' END, output = q.output, answered = q.answered,
      timeout_at = CASE WHEN q.times_out THEN q.now ELSE o.timeout_at END,
      completed_at = q.now, due_at = NULL, ended_at = q.now, settled_by = q.call`

const isOpen = (row: string): string =>
  `${row}.status = 'WAITING' AND (${row}.timeout_at IS NULL OR q.now < ${row}.timeout_at)`

/** Beside the id of the token `o`: it is open when the request `q` comes. */
export const IS_OPEN: string = isOpen('o')

/** Beside the id of a token: it is open, and asks what the request `q` expects. */
export const isAsking = (row: string): string =>
  `${isOpen(row)} AND ${row}.question IS NOT DISTINCT FROM q.question`

/** The members of a wait. */
export const AWAIT_MEMBERS = `token_id text, run_id text, epoch int, by_owner text, now float8, place bigint, call text,
    again boolean`

/** The members of a completion. */
export const SETTLE_MEMBERS = `id text, output text, times_out boolean, fence_run text, fence_epoch int, by_owner text,
    now float8, call text, again boolean, resume_run text, resume_epoch int, resume_parks int, question text, answered text`

const CHANGE_MEMBERS = `id text, question text, question_to text, timeout_at float8, fence_run text, fence_epoch int,
    by_owner text, now float8, call text, again boolean`

/** Beside the id of the run `r`: the completion `q` may resume it. */
export const IS_RESUMABLE: string = `${isOfAttempt('r', ['q.resume_epoch', 'q.by_owner'], 'WAITING')} AND r.parks = q.resume_parks AND r.held = 1
        AND NOT EXISTS (SELECT 1 FROM $s.queues WHERE name = r.queue)`

/** What the completion `q` changes of the run `e` that it resumes. */
export const RESUME = `status = 'EXECUTING', slot = 1, reserved = 0, updated_at = greatest(e.updated_at, q.now), look_at = NULL`

/**
 * The functions for tokens and waits. A wait that is being made ready is not released: a tick says so once more.
 *
 * A run is resumed with a token that it waits for only if nothing else is at it, nothing is set of its queue, and nothing is being set.
 * The settle waits for none of these: it has locked the run weakly, and another call may wait for that.
 */
export const TOKEN_FUNCTIONS: string = `${requestType('await_request', AWAIT_MEMBERS)}${requestType('settle_request', SETTLE_MEMBERS)}${requestType('change_request', CHANGE_MEMBERS)}
CREATE FUNCTION $s.ready_waits(token text) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT json_agg(json_build_array(run_id, owner)) FROM $s.waits WHERE token_id = token AND ${IS_READY});
END $$;

CREATE FUNCTION $s.settle_due(
  INOUT t $s.tokens, at float8, by_call text, is_again boolean, OUT now_settled boolean, OUT ready json)
LANGUAGE plpgsql AS $$
DECLARE
  token text := t.id;
BEGIN
  IF t.status = 'WAITING' AND t.timeout_at <= at THEN
    UPDATE $s.tokens SET status = CASE kind WHEN 'SLEEP' THEN 'COMPLETED' ELSE 'TIMED_OUT' END,
        completed_at = timeout_at, due_at = NULL, ended_at = timeout_at, settled_by = by_call
      WHERE id = token AND ${IS_DUE} RETURNING * INTO t;
    now_settled := FOUND;
    IF now_settled THEN
      ready := $s.settle_waits(token, ${runsWaitingFor('token')});
      RETURN;
    END IF;
    SELECT * INTO t FROM $s.tokens WHERE id = token;
  END IF;
  now_settled := coalesce(is_again AND t.settled_by = by_call, false);
  IF now_settled THEN ready := $s.ready_waits(token); END IF;
END $$;
${INSERT_TOKENS}
CREATE FUNCTION $s.waiters_for(token text, most int) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(run_id), '[]') FROM (
    SELECT run_id FROM $s.waits WHERE token_id = token AND ready = 0 ORDER BY run_id LIMIT most) AS waiting);
END $$;

CREATE FUNCTION $s.get_tokens(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answer record;
  r $s.runs;
  due record;
  answers json[] := '{}';
BEGIN
  IF json_array_length(requests) > 1 THEN
    PERFORM $s.lock_due(array_agg(x.id), min(x.now)) FROM json_to_recordset(requests) AS x(id text, now float8);
  END IF;
  FOR q IN SELECT * FROM json_to_recordset(requests) AS x(id text, now float8, waiters int, call text, again boolean)
  LOOP
    IF q.id LIKE 'run:%' THEN
      SELECT * INTO r FROM $s.runs WHERE id = substr(q.id, 5);
      answers := answers || CASE WHEN FOUND THEN json_build_object('run', $s.run_json(r)) ELSE 'null' END;
      CONTINUE;
    END IF;
    -- One statement: how it stands, and what waits for it, as of one instant.
    SELECT o AS t, CASE WHEN q.waiters IS NOT NULL THEN $s.waiters_for(o.id, q.waiters) END AS waiters
      INTO answer FROM $s.tokens o WHERE o.id = q.id;
    IF NOT FOUND THEN
      answers := answers || 'null'::json;
      CONTINUE;
    END IF;
    SELECT * INTO due FROM $s.settle_due(answer.t, q.now, q.call, q.again);
    answers := answers || json_build_object('token', $s.token_json(due.t), 'settledNow', due.now_settled, 'ready', due.ready,
      'waiters', CASE WHEN q.waiters IS NULL OR (due.t).status = 'WAITING' THEN answer.waiters ELSE '[]' END);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.await_run(q $s.await_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs;
BEGIN
  PERFORM 1 FROM $s.runs WHERE id IN (substr(q.token_id, 5), q.run_id) ORDER BY id FOR SHARE;
  SELECT * INTO r FROM $s.runs WHERE id = substr(q.token_id, 5);
  IF NOT $s.holds(q.run_id, q.epoch, q.by_owner) THEN RETURN '{"outcome":"stale"}'; END IF;
  IF r.id IS NULL THEN RETURN '{"outcome":"unknown"}'; END IF;
  IF $s.is_final(r.status) THEN RETURN json_build_object('outcome', 'settled', 'run', $s.run_json(r)); END IF;
  INSERT INTO $s.waits (run_id, token_id, owner, ready, place)
    VALUES (q.run_id, q.token_id, q.by_owner, 0, q.place) ON CONFLICT DO NOTHING;
  RETURN json_build_object('outcome', 'registered', 'run', $s.run_json(r));
END $$;

CREATE FUNCTION $s.await_token(q $s.await_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t $s.tokens;
  open json;
  due record;
BEGIN
  LOOP
    SELECT ${tokenAsJson('o')} INTO open FROM $s.tokens o WHERE o.id = q.token_id AND ${IS_OPEN} FOR SHARE;
    EXIT WHEN open IS NOT NULL;
    SELECT * INTO t FROM $s.tokens WHERE id = q.token_id;
    IF t.due_at <= q.now THEN
      PERFORM $s.lock_due(ARRAY[q.token_id], q.now);
      SELECT * INTO t FROM $s.tokens WHERE id = q.token_id;
    END IF;
    -- Its deadline may have been moved in between.
    EXIT WHEN t.status IS DISTINCT FROM 'WAITING' OR t.timeout_at <= q.now;
  END LOOP;
  ${holdAttempt('q.run_id', ['q.epoch', 'q.by_owner'])};
  IF NOT FOUND THEN RETURN '{"outcome":"stale"}'; END IF;
  IF open IS NOT NULL THEN
    INSERT INTO $s.waits (run_id, token_id, owner, ready, place)
      VALUES (q.run_id, q.token_id, q.by_owner, 0, q.place) ON CONFLICT DO NOTHING;
    RETURN json_build_object('outcome', 'registered', 'token', open);
  END IF;
  IF t.id IS NULL THEN RETURN '{"outcome":"unknown"}'; END IF;
  SELECT * INTO due FROM $s.settle_due(t, q.now, q.call, q.again);
  RETURN json_build_object('outcome', 'settled', 'token', $s.token_json(due.t), 'settledNow', due.now_settled,
    'ready', due.ready);
END $$;

CREATE FUNCTION $s.await_tokens(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.await_request;
  place int := 0;
  answers json[];
  is_done boolean;
BEGIN
  IF json_array_length(requests) = 1 THEN
    q := ${onlyRequest('await_request')};
    IF q.token_id LIKE 'run:%' THEN RETURN json_build_array($s.await_run(q)); END IF;
    RETURN json_build_array($s.await_token(q));
  END IF;
  PERFORM $s.lock_awaited(requests);
  SELECT * INTO answers, is_done FROM $s.await_batch(requests);
  IF is_done THEN RETURN array_to_json(answers); END IF;
  FOR q IN ${allRequests('await_request')} LOOP
    place := place + 1;
    CONTINUE WHEN answers[place] IS NOT NULL;
    answers[place] := CASE WHEN q.token_id LIKE 'run:%' THEN $s.await_run(q) ELSE $s.await_token(q) END;
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.settle_token(q $s.settle_request) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t $s.tokens;
  won json;
  run_ids text[];
  ready_waits json;
  resumed json;
  due record;
BEGIN
  IF q.fence_run IS NOT NULL THEN
    ${holdAttempt('q.fence_run', ['q.fence_epoch', 'q.by_owner'])};
    IF NOT FOUND THEN RETURN '"stale"'; END IF;
  END IF;
  UPDATE $s.tokens AS o SET ${SETTLE} WHERE o.id = q.id AND ${isAsking('o')}
    RETURNING ${tokenAsJson('o')} INTO won;
  IF FOUND THEN
    run_ids := ${runsWaitingFor('q.id')};
    IF cardinality(run_ids) > 0 THEN ready_waits := $s.settle_waits(q.id, run_ids); END IF;
    IF q.resume_run = ANY (run_ids) AND pg_try_advisory_xact_lock_shared($space, 2050) THEN
      UPDATE $s.runs AS e SET ${RESUME}
        WHERE id = (SELECT r.id FROM $s.runs r
          WHERE r.id = q.resume_run AND ${IS_RESUMABLE}
            AND EXISTS (SELECT 1 FROM $s.waits w WHERE w.run_id = r.id AND w.token_id = q.id AND ${IS_READY})
          FOR NO KEY UPDATE OF r SKIP LOCKED)
        RETURNING ${runAsJson('e')} INTO resumed;
    END IF;
    RETURN json_build_object('token', won, 'won', true, 'settledNow', true, 'ready', ready_waits, 'resumed', resumed);
  END IF;
  SELECT * INTO t FROM $s.tokens WHERE id = q.id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT * INTO due FROM $s.settle_due(t, q.now, q.call, q.again);
  t := due.t;
  -- It may have been changed in between.
  IF ${isAsking('t')} THEN RETURN $s.settle_token(q); END IF;
  RETURN json_build_object('token', $s.token_json(due.t), 'settledNow', due.now_settled, 'ready', due.ready,
    'won', due.now_settled AND (t.timeout_at IS NULL OR q.now < t.timeout_at OR (q.times_out IS TRUE AND q.now = t.timeout_at)));
END $$;

CREATE FUNCTION $s.settle_tokens(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.settle_request;
  place int := 0;
  locked record;
  answers json[] := '{}';
  is_done boolean;
BEGIN
  IF json_array_length(requests) = 1 THEN
    q := ${onlyRequest('settle_request')};
    IF q.fence_run IS NOT NULL THEN PERFORM $s.lock_settled(requests); END IF;
    RETURN json_build_array($s.settle_token(q));
  END IF;
  SELECT * INTO locked FROM $s.lock_settled(requests);
  IF NOT locked.has_orphans THEN
    SELECT * INTO answers, is_done FROM $s.settle_batch(locked.token_ids, requests);
    IF is_done THEN RETURN array_to_json(answers); END IF;
  END IF;
  FOR q IN ${allRequests('settle_request')} LOOP
    place := place + 1;
    CONTINUE WHEN answers[place] IS NOT NULL;
    answers[place] := $s.settle_token(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.change_tokens(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.change_request := ${onlyRequest('change_request')};
  o $s.tokens;
  r $s.runs;
  due record;
  run_ids text[];
  is_changed boolean;
BEGIN
  SELECT * INTO o FROM $s.tokens WHERE id = q.id FOR NO KEY UPDATE;
  IF q.fence_run IS NOT NULL THEN
    PERFORM $s.lock_runs('{}', ARRAY[q.fence_run], $s.waiters_of(ARRAY[q.id]));
    IF NOT $s.holds(q.fence_run, q.fence_epoch, q.by_owner) THEN RETURN '["stale"]'; END IF;
  END IF;
  IF o.id IS NULL THEN RETURN '[null]'; END IF;
  is_changed := q.again AND o.changed_by = q.call;
  IF is_changed IS NOT TRUE AND (${isAsking('o')}) THEN
    is_changed := true;
    UPDATE $s.tokens SET question = coalesce(q.question_to, question), timeout_at = coalesce(q.timeout_at, timeout_at),
        due_at = coalesce(q.timeout_at, due_at), changed_by = q.call
      WHERE id = q.id RETURNING * INTO o;
    run_ids := ${runsWaitingFor('q.id')};
    IF cardinality(run_ids) > 0 AND $s.lock_waiters(run_ids) THEN
      FOR r IN SELECT * FROM $s.runs WHERE id = ANY (run_ids) AND held = 0 AND (status || '') = 'WAITING' LOOP
        PERFORM $s.put_run(r, q.now);
      END LOOP;
    END IF;
    RETURN json_build_array(json_build_object('token', $s.token_json(o), 'changed', true));
  END IF;
  SELECT * INTO due FROM $s.settle_due(o, q.now, q.call, q.again);
  RETURN json_build_array(json_build_object('token', $s.token_json(due.t), 'settledNow', due.now_settled,
    'ready', due.ready, 'changed', coalesce(is_changed, false)));
END $$;

CREATE FUNCTION $s.release_waits(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
BEGIN
  DELETE FROM $s.waits WHERE (run_id, token_id) IN (
    SELECT w.run_id, w.token_id FROM json_array_elements(requests) AS q
      CROSS JOIN LATERAL json_to_recordset(q) AS x(run_id text, token_id text, owner text)
      JOIN $s.waits w ON w.run_id = x.run_id AND w.token_id = x.token_id AND w.owner = x.owner
    WHERE NOT EXISTS (SELECT 1 FROM $s.runs r WHERE r.id = x.run_id AND r.status = 'WAITING' AND r.held = 0)
    FOR UPDATE OF w SKIP LOCKED);
  RETURN (SELECT json_agg(NULL::json) FROM json_array_elements(requests));
END $$;
`
