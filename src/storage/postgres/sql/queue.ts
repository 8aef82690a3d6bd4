/**
 * Queues of which something is set while engines run: they are few, and mostly there are none. A change has the lock of them
 * for itself, claims and resumes share it: once a change is answered, none of them is under way that has not seen it.
 */
export const QUEUE_FUNCTIONS: string = `
CREATE FUNCTION $s.lock_limits(queues text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  limits jsonb;
BEGIN
  PERFORM pg_advisory_xact_lock_shared($space, 2050);
  limits := (SELECT jsonb_object_agg(name, CASE WHEN paused = 1 THEN 0 ELSE most END) FROM $s.queues);
  IF limits IS NOT NULL THEN queues := queues || ARRAY(SELECT jsonb_object_keys(limits)); END IF;
  PERFORM $s.lock_queues(queues);
  RETURN limits;
END $$;

CREATE FUNCTION $s.queue_json(one $s.queues) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object('name', one.name, 'isPaused', one.paused = 1,
    'limit', one.most, 'limitedAt', one.limited_at))
$$;

CREATE FUNCTION $s.get_queue(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg(jsonb_build_object('name', q->>'name', 'isPaused', false) || $s.queue_json(o)
    || jsonb_build_object('slots', (SELECT count(*) FROM $s.runs WHERE slot = 1 AND queue = q->>'name'),
      'refused', (SELECT count(*) FROM $s.runs WHERE reserved = 1 AND queue = q->>'name')))
  FROM json_array_elements(requests) AS q LEFT JOIN $s.queues o ON o.name = q->>'name'
$$;

CREATE FUNCTION $s.list_queues(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg((SELECT coalesce(json_agg($s.queue_json(o) ORDER BY o.name), '[]') FROM $s.queues o))
  FROM json_array_elements(requests)
$$;

CREATE FUNCTION $s.set_queue(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q json := requests->0;
  one $s.queues;
BEGIN
  PERFORM pg_advisory_xact_lock($space, 2050);
  SELECT * INTO one FROM $s.queues WHERE name = q->>'name';
  one.name := q->>'name';
  one.paused := coalesce((q->>'isPaused')::boolean::int, one.paused, 0);
  IF q->'limit' IS NOT NULL THEN
    one.most := (q->>'limit')::float8;
    one.limited_at := CASE WHEN one.most IS NOT NULL THEN (q->>'now')::float8 END;
  END IF;
  DELETE FROM $s.queues WHERE name = one.name;
  IF one.paused = 1 OR one.most IS NOT NULL THEN INSERT INTO $s.queues SELECT one.*; END IF;
  RETURN json_build_array($s.queue_json(one));
END $$;
`
