import { BY_INDEX, isOfAttempt } from './plans.ts'

/** Streams, settings and what is dropped in the end. All chunks of one append are one row, a line each. */
export const CHUNK_FUNCTIONS: string = `
CREATE FUNCTION $s.stream_json(st $s.streams) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN json_build_array(st.next, st.before, st.attempt, st.first, st.ending);
END $$;

CREATE FUNCTION $s.writable_run(run text, at_epoch int, by_owner text) RETURNS $s.runs LANGUAGE sql AS $$
  SELECT * FROM $s.runs WHERE id = run
    AND ${isOfAttempt('runs', ['at_epoch', 'by_owner'], 'EXECUTING', 'WAITING')} FOR UPDATE
$$;

CREATE FUNCTION $s.badness(ending jsonb) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ending->>'reason' = 'done' THEN 0 WHEN ending->>'reason' = 'failed' THEN 3
    WHEN ending ? 'isIntended' THEN 1 ELSE 2 END
$$;

CREATE FUNCTION $s.end_of_all(shared jsonb) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN bool_and(coalesce(e.ending, 'null') <> 'null')
    THEN ((array_agg(e.ending ORDER BY $s.badness(e.ending) DESC, e.run COLLATE "C"))[1])::json END
  FROM (SELECT '' AS run, CASE WHEN shared ? 'own' THEN shared->'ownEnd' ELSE '{"reason":"done"}' END AS ending
    UNION ALL SELECT key, value FROM jsonb_each(shared->'others')) AS e
$$;

CREATE FUNCTION $s.last_segment(r $s.runs, key_name text, key_json text, at float8) RETURNS $s.streams
LANGUAGE plpgsql AS $$
DECLARE
  st $s.streams;
BEGIN
  SELECT * INTO st FROM $s.streams WHERE run_id = r.id AND key = key_name FOR UPDATE;
  IF st.attempt = r.attempt THEN RETURN st; END IF;
  IF NOT FOUND THEN
    r.streams := coalesce(left(nullif(r.streams, '[]'), -1) || ',', '[') || key_json || ']';
    r.updated_at := greatest(r.updated_at, at);
    PERFORM $s.put_run(r, at);
    INSERT INTO $s.streams (run_id, key, next, before, attempt, first)
      VALUES (r.id, key_name, 0, '[]', r.attempt, 0) RETURNING * INTO st;
  ELSE
    UPDATE $s.streams SET first = next, attempt = r.attempt, ending = NULL, shared = NULL,
        before = (before::jsonb || jsonb_build_array(jsonb_strip_nulls(
          jsonb_build_object('attempt', attempt, 'first', first, 'end', ending))))::json
      WHERE run_id = r.id AND key = key_name RETURNING * INTO st;
  END IF;
  RETURN st;
END $$;

CREATE FUNCTION $s.open_stream(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs := $s.writable_run(q.run_id, q.epoch, q.by_owner);
  st $s.streams;
BEGIN
  IF r.id IS NULL THEN RETURN NULL; END IF;
  st := $s.last_segment(r, q.key, q.key_json, q.now);
  IF st.shared IS NOT NULL AND NOT st.shared ? 'own' THEN
    UPDATE $s.streams SET shared = shared || jsonb_build_object('own', next), ending = NULL
      WHERE run_id = q.run_id AND key = q.key RETURNING * INTO st;
  END IF;
  RETURN $s.stream_json(st);
END $$;

CREATE FUNCTION $s.open_streams(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answers json[] := '{}';
BEGIN
  FOR q IN SELECT * FROM json_to_recordset(requests)
    AS x(run_id text, key text, key_json text, epoch int, by_owner text, attempt int, now float8)
  LOOP
    answers := answers || $s.open_stream(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.append_chunks(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  st $s.streams;
  run_attempt int;
  own int;
  said json;
  other int;
  fresh text[] := q.texts;
BEGIN
  SELECT attempt INTO run_attempt FROM $s.runs
    WHERE id = q.run_id AND ${isOfAttempt('runs', ['q.epoch', 'q.by_owner'], 'EXECUTING', 'WAITING')} FOR SHARE;
  IF NOT FOUND THEN RETURN '"stale"'; END IF;
  SELECT * INTO st FROM $s.streams WHERE run_id = q.run_id AND key = q.key FOR UPDATE;
  IF st.attempt IS DISTINCT FROM run_attempt OR st.shared IS NOT NULL AND NOT st.shared ? 'own' THEN
    RETURN json_build_object('unopened', run_attempt);
  END IF;
  own := coalesce((st.shared->>'own')::int, st.next);
  IF q.first >= own AND q.first < st.next THEN RETURN json_build_object('moved', st.next); END IF;
  IF q.first > st.next OR q.first < own AND own < st.next AND q.first + cardinality(q.texts) > own THEN
    RETURN json_build_object('next', st.next);
  END IF;
  IF q.first < st.first THEN RETURN json_build_object('from', st.first); END IF;
  IF q.first < own THEN
    SELECT min(c.first + line.place - 1) INTO other FROM $s.chunks c
      CROSS JOIN LATERAL unnest(string_to_array(c.texts, E'\\n')) WITH ORDINALITY AS line(body, place)
      WHERE c.run_id = q.run_id AND c.key = q.key AND c.first + c.count > q.first AND c.first < own
        AND c.first + line.place - 1 BETWEEN q.first AND q.first + cardinality(q.texts) - 1
        AND line.body <> q.texts[c.first + line.place - q.first];
    IF other IS NOT NULL THEN RETURN json_build_object('other', other); END IF;
    fresh := q.texts[own - q.first + 1:];
  END IF;
  said := CASE WHEN st.shared IS NULL THEN st.ending ELSE (st.shared->'ownEnd')::json END;
  IF cardinality(fresh) > 0 THEN
    INSERT INTO $s.chunks (run_id, key, first, count, texts)
      VALUES (q.run_id, q.key, st.next, cardinality(fresh), array_to_string(fresh, E'\\n'));
    own := st.next + cardinality(fresh);
    said := NULL;
  ELSIF q.ending IS NOT NULL AND said IS NOT NULL AND q.ending::jsonb <> said::jsonb THEN
    RETURN json_build_object('ended', said->>'reason');
  END IF;
  said := coalesce(said, q.ending);
  IF st.shared IS NOT NULL THEN
    st.shared := (st.shared - 'ownEnd') || jsonb_strip_nulls(jsonb_build_object('own', own, 'ownEnd', said));
    said := $s.end_of_all(st.shared);
  END IF;
  UPDATE $s.streams SET next = next + cardinality(fresh), ending = said, shared = st.shared
    WHERE run_id = q.run_id AND key = q.key;
  IF q.written IS NOT NULL THEN
    INSERT INTO $s.writers AS w (run_id, key, writer, last)
      SELECT q.run_id, q.key, x.writer, x.last FROM json_to_recordset(q.written) AS x(writer text, last bigint)
      ON CONFLICT (run_id, key, writer) DO UPDATE SET last = greatest(w.last, excluded.last);
  END IF;
  RETURN '"appended"';
END $$;

CREATE FUNCTION $s.append(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answers json[] := '{}';
BEGIN
  FOR q IN SELECT * FROM json_to_recordset(requests)
    AS x(run_id text, key text, epoch int, by_owner text, first int, texts text[], ending json, written json)
  LOOP
    answers := answers || $s.append_chunks(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.add_to_stream(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs;
  st $s.streams;
  own_attempt int;
  last_number bigint;
  fresh text[] := '{}';
  others jsonb;
BEGIN
  IF NOT $s.holds(q.fence_run, q.fence_epoch, q.by_owner) THEN RETURN '"stale"'; END IF;
  SELECT * INTO r FROM $s.runs WHERE id = q.run_id AND attempt > 0 AND $s.is_live(status) FOR UPDATE;
  IF NOT FOUND THEN RETURN '"closed"'; END IF;
  SELECT attempt INTO own_attempt FROM $s.streams WHERE run_id = q.run_id AND key = q.key;
  st := $s.last_segment(r, q.key, q.key_json, q.now);
  IF st.shared IS NULL THEN
    st.shared := '{"others":{}}';
    IF own_attempt = r.attempt THEN
      st.shared := st.shared || jsonb_strip_nulls(jsonb_build_object('own', st.next, 'ownEnd', st.ending));
    END IF;
  END IF;
  others := (st.shared->'others') - q.fence_run;
  IF q.ending->>'reason' IS DISTINCT FROM 'done' THEN
    others := others || jsonb_build_object(q.fence_run, q.ending);
  END IF;
  st.shared := jsonb_set(st.shared, '{others}', others);
  IF q.writer IS NOT NULL THEN
    SELECT last INTO last_number FROM $s.writers
      WHERE run_id = q.run_id AND key = q.key AND writer = q.writer;
    fresh := q.texts[greatest(0, cardinality(q.texts) - (q.last - coalesce(last_number, -1))) + 1:];
    IF cardinality(fresh) > 0 THEN
      INSERT INTO $s.chunks (run_id, key, first, count, texts)
        VALUES (q.run_id, q.key, st.next, cardinality(fresh), array_to_string(fresh, E'\\n'));
    END IF;
    INSERT INTO $s.writers AS w (run_id, key, writer, last) VALUES (q.run_id, q.key, q.writer, q.last)
      ON CONFLICT (run_id, key, writer) DO UPDATE SET last = greatest(w.last, excluded.last);
  END IF;
  UPDATE $s.streams SET next = next + cardinality(fresh), ending = $s.end_of_all(st.shared), shared = st.shared
    WHERE run_id = q.run_id AND key = q.key;
  RETURN '"added"';
END $$;

CREATE FUNCTION $s.add_chunks(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answers json[] := '{}';
BEGIN
  PERFORM $s.lock_runs(ARRAY(SELECT x.run_id FROM json_to_recordset(requests) AS x(run_id text)),
    ARRAY(SELECT x.fence_run FROM json_to_recordset(requests) AS x(fence_run text)), '{}');
  FOR q IN SELECT * FROM json_to_recordset(requests)
    AS x(run_id text, key text, key_json text, fence_run text, fence_epoch int, by_owner text, texts text[],
      ending json, writer text, last bigint, now float8)
  LOOP
    answers := answers || $s.add_to_stream(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.read_chunks(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
BEGIN
  RETURN (SELECT json_agg((
    SELECT json_build_array($s.stream_json(st), (
      SELECT coalesce(json_agg(json_build_array(part.first, part.texts)), '[]') FROM (
        SELECT c.first, c.texts FROM $s.chunks c WHERE c.run_id = q.run_id AND c.key = q.key
          AND q.from < st.next AND c.first < q.from + q.most
          AND c.first >= (SELECT max(f.first) FROM $s.chunks f
            WHERE f.run_id = q.run_id AND f.key = q.key AND f.first <= q.from)
        ORDER BY c.first) AS part),
      CASE WHEN q.writer IS NOT NULL THEN
        (SELECT w.last FROM $s.writers w WHERE w.run_id = q.run_id AND w.key = q.key AND w.writer = q.writer) END)
    FROM $s.streams st WHERE st.run_id = q.run_id AND st.key = q.key
  ) ORDER BY q.place)
  FROM (SELECT x.*, row_number() OVER () AS place
    FROM json_to_recordset(requests) AS x(run_id text, key text, "from" float8, most float8, writer text)) AS q);
END $$;

CREATE FUNCTION $s.get_settings(requests json) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  -- A role that may only read finds what is there.
  IF EXISTS (SELECT FROM json_array_elements(requests) AS q WHERE NOT EXISTS (SELECT FROM $s.settings WHERE name = q->>'name')) THEN
    INSERT INTO $s.settings (name, value)
      SELECT x.name, x.candidate FROM json_to_recordset(requests) AS x(name text, candidate text)
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN (SELECT json_agg((SELECT value FROM $s.settings WHERE name = q->>'name'))
    FROM json_array_elements(requests) AS q);
END $$;
`
