import { BY_INDEX, isOfAttempt } from './plans.ts'

/** Streams, settings and what is dropped in the end. All chunks of one append are one row, a line each. */
export const CHUNK_FUNCTIONS: string = `
CREATE FUNCTION $s.stream_json(st $s.streams) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN json_build_array(st.next, st.before, st.attempt, st.first, st.ending);
END $$;

CREATE FUNCTION $s.writable_run(run text, at_epoch int, by_owner text) RETURNS $s.runs LANGUAGE sql AS $$
  SELECT * FROM $s.runs WHERE id = run
    AND ${isOfAttempt('at_epoch', 'by_owner', 'EXECUTING', 'WAITING')} FOR UPDATE
$$;

CREATE FUNCTION $s.open_stream(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs := $s.writable_run(q.run_id, q.epoch, q.by_owner);
  st $s.streams;
BEGIN
  IF r.id IS NULL THEN RETURN NULL; END IF;
  SELECT * INTO st FROM $s.streams WHERE run_id = q.run_id AND key = q.key FOR UPDATE;
  IF st.attempt = q.attempt THEN RETURN $s.stream_json(st); END IF;
  IF NOT FOUND THEN
    r.streams := coalesce(left(nullif(r.streams, '[]'), -1) || ',', '[') || q.key_json || ']';
    r.updated_at := greatest(r.updated_at, q.now);
    PERFORM $s.put_run(r, q.now);
    INSERT INTO $s.streams (run_id, key, next, before, attempt, first)
      VALUES (q.run_id, q.key, 0, '[]', q.attempt, 0) RETURNING * INTO st;
  ELSE
    UPDATE $s.streams SET first = next, attempt = q.attempt, ending = NULL,
        before = (before::jsonb || jsonb_build_array(jsonb_strip_nulls(
          jsonb_build_object('attempt', attempt, 'first', first, 'end', ending))))::json
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
  other int;
  fresh text[] := q.texts;
BEGIN
  SELECT attempt INTO run_attempt FROM $s.runs
    WHERE id = q.run_id AND ${isOfAttempt('q.epoch', 'q.by_owner', 'EXECUTING', 'WAITING')} FOR SHARE;
  IF NOT FOUND THEN RETURN '"stale"'; END IF;
  SELECT * INTO st FROM $s.streams WHERE run_id = q.run_id AND key = q.key FOR UPDATE;
  IF st.attempt IS DISTINCT FROM run_attempt THEN RETURN json_build_object('unopened', run_attempt); END IF;
  IF q.first > st.next THEN RETURN json_build_object('next', st.next); END IF;
  IF q.first < st.first THEN RETURN json_build_object('from', st.first); END IF;
  IF q.first < st.next THEN
    SELECT min(c.first + line.place - 1) INTO other FROM $s.chunks c
      CROSS JOIN LATERAL unnest(string_to_array(c.texts, E'\\n')) WITH ORDINALITY AS line(body, place)
      WHERE c.run_id = q.run_id AND c.key = q.key AND c.first + c.count > q.first
        AND c.first + line.place - 1 BETWEEN q.first AND q.first + cardinality(q.texts) - 1
        AND line.body <> q.texts[c.first + line.place - q.first];
    IF other IS NOT NULL THEN RETURN json_build_object('other', other); END IF;
    fresh := q.texts[st.next - q.first + 1:];
  END IF;
  IF cardinality(fresh) > 0 THEN
    INSERT INTO $s.chunks (run_id, key, first, count, texts)
      VALUES (q.run_id, q.key, st.next, cardinality(fresh), array_to_string(fresh, E'\\n'));
    st.ending := NULL;
  ELSIF q.ending IS NOT NULL AND st.ending IS NOT NULL AND q.ending::text <> st.ending::text THEN
    RETURN json_build_object('ended', st.ending->>'reason');
  END IF;
  UPDATE $s.streams SET next = next + cardinality(fresh), ending = coalesce(st.ending, q.ending)
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
  INSERT INTO $s.settings (name, value)
    SELECT x.name, x.candidate FROM json_to_recordset(requests) AS x(name text, candidate text)
    ON CONFLICT DO NOTHING;
  RETURN (SELECT json_agg((SELECT value FROM $s.settings WHERE name = q->>'name'))
    FROM json_array_elements(requests) AS q);
END $$;
`
