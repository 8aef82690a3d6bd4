import { holdAttempt, IS_DUE } from './plans.ts'

/**
 * Locks, and their order, so that no two transactions wait for each other: first the advisory locks, of what is set of queues, of queues,
 * of the company of owners, of keys; then owners; then tokens, by id; then runs, by id. A turn takes the locks of all
 * its requests before it does the first; a request that is alone takes them as it goes. Waits, streams and chunks belong to a run and are under its lock alone.
 *
 * How a run is locked: `FOR UPDATE` to take it from its owner, to end it, or to read its waits; `FOR KEY SHARE`
 * to make its waits ready, which keeps those away and no others, as the transaction may be a user's; `FOR SHARE` to
 * write as its attempt; as an update does, to only change it. Waking a run without a living owner also moves it into
 * line: then as an update does.
 *
 * Rows that are not known in time, or come in another order, are locked only if they are free: `SKIP LOCKED` where
 * another row will do, `NOWAIT` where not. Then the transaction is rolled back and made again.
 *
 * A transaction of a user's may hold a lock for long. That of a key is only tried by a request with `tries`: it is answered with
 * `"held"`, and the others of its turn are done; `lock_keys` answers with what is held. A turn that has waited in vain for
 * another lock is made again by `try_each`: each request as if it were alone, without an order, so that none may wait long; one that needs a lock of
 * another transaction is undone by itself, as are those behind it, of the same key.
 */
export const LOCK_FUNCTIONS: string = `
CREATE FUNCTION $s.try_each(kind text, requests json, keys text[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  one json;
  at_place int := 0;
  answer json;
  answers json[] := '{}';
  held_keys text[] := '{}';
BEGIN
  FOR one IN SELECT json_array_elements(requests) LOOP
    at_place := at_place + 1;
    answer := '"held"';
    IF keys[at_place] IS NULL OR keys[at_place] <> ALL (held_keys) THEN
      BEGIN
        EXECUTE 'SELECT $s.' || kind || '($1)' INTO answer USING json_build_array(one);
        answer := coalesce(answer->0, 'null');
      EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        held_keys := held_keys || keys[at_place];
      END;
    END IF;
    answers := answers || answer;
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.lock_queues(queues text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(queues) = 0 THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock($space, place) FROM (
    SELECT DISTINCT 4096 + (hashtext(queue) & 65535) AS place FROM unnest(queues) AS queue ORDER BY 1) AS places;
END $$;

CREATE FUNCTION $s.lock_of_key(key_lock text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended(key_lock, $space)
$$;

CREATE FUNCTION $s.lock_keys(requests json) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT array_agg(lock) FROM (
    SELECT DISTINCT $s.lock_of_key(x.key_lock) AS lock, x.tries
    FROM json_to_recordset(requests) AS x(key_lock text, tries boolean)
    WHERE x.key_lock IS NOT NULL ORDER BY 1) AS keys
  WHERE CASE WHEN tries THEN NOT pg_try_advisory_xact_lock(lock) ELSE pg_advisory_xact_lock(lock) IS NULL END);
END $$;

CREATE FUNCTION $s.holds(run text, at_epoch int, by_owner text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  ${holdAttempt('run', ['at_epoch', 'by_owner'])};
  RETURN FOUND;
END $$;

CREATE FUNCTION $s.waiters_of(token_ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(SELECT run_id FROM $s.waits WHERE token_id = ANY (token_ids) AND ready = 0);
END $$;

CREATE FUNCTION $s.lock_waiters(run_ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  is_held boolean := false;
BEGIN
  IF cardinality(run_ids) = 1 THEN
    SELECT held = 1 INTO is_held FROM $s.runs WHERE id = run_ids[1] FOR KEY SHARE;
  ELSE
    PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) ORDER BY id FOR KEY SHARE;
  END IF;
  IF is_held THEN RETURN false; END IF;
  PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) AND held = 0 ORDER BY id FOR NO KEY UPDATE;
  RETURN FOUND;
END $$;

CREATE FUNCTION $s.lock_free(run_ids text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT id FROM $s.runs WHERE id = ANY (run_ids) FOR UPDATE SKIP LOCKED;
END $$;

CREATE FUNCTION $s.lock_at_once(run_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(run_ids) = 0 THEN RETURN; END IF;
  PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) AND held = 1 FOR KEY SHARE NOWAIT;
  PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) AND held = 0 FOR NO KEY UPDATE NOWAIT;
END $$;

CREATE FUNCTION $s.try_parents(run text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM $s.lock_at_once($s.waiters_of(ARRAY['run:' || run]));
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

CREATE FUNCTION $s.lock_runs(taken text[], written text[], woken text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  one text;
BEGIN
  FOR one IN SELECT DISTINCT id FROM unnest(taken || written || woken) AS id WHERE id IS NOT NULL ORDER BY id
  LOOP
    IF one = ANY (taken) THEN PERFORM 1 FROM $s.runs WHERE id = one FOR UPDATE;
    ELSIF one = ANY (written) THEN PERFORM 1 FROM $s.runs WHERE id = one FOR SHARE;
    ELSE PERFORM 1 FROM $s.runs WHERE id = one FOR KEY SHARE;
    END IF;
  END LOOP;
  RETURN $s.lock_waiters(woken);
END $$;

CREATE FUNCTION $s.lock_fences(requests json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM $s.runs WHERE id = ANY (ARRAY(
    SELECT x.fence_run FROM json_to_recordset(requests) AS x(fence_run text))) ORDER BY id FOR SHARE;
END $$;

CREATE FUNCTION $s.lock_inserted(requests json, held bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  fences text[];
  pushes boolean;
BEGIN
  SELECT array_agg(x.fence_run), bool_or(x.push IS NOT NULL) INTO fences, pushes
    FROM json_to_recordset(requests) AS x(fence_run text, push json);
  IF NOT pushes THEN
    PERFORM 1 FROM $s.runs WHERE id = ANY (fences) ORDER BY id FOR SHARE;
    RETURN;
  END IF;
  PERFORM $s.lock_runs('{}', fences, ARRAY(
    SELECT (SELECT o.id FROM $s.runs o WHERE o.key_scope = x.run->>'key_scope' AND o.key_value = x.run->>'key_value'
      ORDER BY o.seq DESC LIMIT 1)
    FROM json_to_recordset(requests) AS x(run json, push json, key_lock text) WHERE x.push IS NOT NULL
      AND (held IS NULL OR $s.lock_of_key(x.key_lock) <> ALL (held))));
END $$;

CREATE FUNCTION $s.lock_due(token_ids text[], at float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  due_ids text[];
BEGIN
  due_ids := ARRAY(SELECT id FROM $s.tokens WHERE id = ANY (token_ids) AND ${IS_DUE}
    ORDER BY id FOR NO KEY UPDATE);
  IF cardinality(due_ids) > 0 THEN PERFORM $s.lock_waiters($s.waiters_of(due_ids)); END IF;
END $$;

CREATE FUNCTION $s.lock_due_at_once(token_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM $s.tokens WHERE id = token_id FOR NO KEY UPDATE NOWAIT;
  PERFORM $s.lock_at_once($s.waiters_of(ARRAY[token_id]));
END $$;

CREATE FUNCTION $s.lock_settled(requests json, OUT token_ids text[], OUT has_orphans boolean) LANGUAGE plpgsql AS $$
DECLARE
  ids text[];
  fences text[];
BEGIN
  SELECT array_agg(x.id), array_agg(DISTINCT x.fence_run) FILTER (WHERE x.fence_run IS NOT NULL)
    INTO ids, fences FROM json_to_recordset(requests) AS x(id text, fence_run text);
  token_ids := ARRAY(SELECT id FROM $s.tokens WHERE id = ANY (ids) AND status = 'WAITING' ORDER BY id FOR NO KEY UPDATE);
  IF fences IS NULL THEN has_orphans := $s.lock_waiters($s.waiters_of(ids));
  ELSE has_orphans := $s.lock_runs('{}', fences, $s.waiters_of(ids)); END IF;
END $$;

CREATE FUNCTION $s.lock_awaited(requests json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids text[];
  run_ids text[];
  at float8;
  one text;
BEGIN
  SELECT array_agg(x.token_id), array_agg(x.run_id) || array_agg(substr(x.token_id, 5)), max(x.now)
    INTO ids, run_ids, at FROM json_to_recordset(requests) AS x(token_id text, run_id text, now float8);
  IF NOT EXISTS (SELECT 1 FROM $s.tokens WHERE id = ANY (ids) AND ${IS_DUE}) THEN
    PERFORM 1 FROM $s.tokens WHERE id = ANY (ids) AND status = 'WAITING' ORDER BY id FOR SHARE;
    PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) ORDER BY id FOR SHARE;
    RETURN;
  END IF;
  FOR one IN SELECT DISTINCT id FROM unnest(ids) AS id ORDER BY id LOOP
    PERFORM 1 FROM $s.tokens WHERE id = one AND ${IS_DUE} FOR NO KEY UPDATE;
    IF NOT FOUND THEN PERFORM 1 FROM $s.tokens WHERE id = one AND status = 'WAITING' FOR SHARE; END IF;
  END LOOP;
  PERFORM $s.lock_runs('{}', run_ids, $s.waiters_of(ARRAY(
    SELECT id FROM $s.tokens WHERE id = ANY (ids) AND ${IS_DUE})));
END $$;

CREATE FUNCTION $s.lock_updated_alone(run text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parents text[] := $s.waiters_of(ARRAY['run:' || run]);
BEGIN
  IF cardinality(parents) > 0 THEN PERFORM $s.lock_runs(ARRAY[run], '{}', parents); END IF;
END $$;

CREATE FUNCTION $s.lock_updated(requests json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids text[] := ARRAY(SELECT DISTINCT x.id FROM json_to_recordset(requests) AS x(id text) ORDER BY 1);
  parents text[] := $s.waiters_of(ARRAY(SELECT 'run:' || id FROM unnest(ids) AS id));
BEGIN
  IF cardinality(parents) > 0 THEN
    PERFORM $s.lock_runs(ids, '{}', parents);
  ELSE
    PERFORM 1 FROM $s.runs WHERE id = ANY (ids) ORDER BY id FOR UPDATE;
  END IF;
END $$;
`
