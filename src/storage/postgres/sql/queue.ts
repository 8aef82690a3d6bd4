import { MOST_EXACT } from '../../../contract/queue-rates.ts'

/**
 * Queues of which something is set while engines run: they are few, and mostly there are none. A change has the lock of them
 * for itself, claims and resumes share it: once a change is answered, none of them is under way that has not seen it.
 *
 * `late_start` counts a run that starts, under the lock of its queue, or answers when its rate lets it start.
 */
export const QUEUE_FUNCTIONS: string = `
CREATE FUNCTION $s.lock_limits(queues text[], with_rates boolean, OUT limits jsonb, OUT rates jsonb) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared($space, 2050);
  SELECT jsonb_object_agg(name, CASE WHEN paused = 1 THEN 0 ELSE most END) FILTER (WHERE paused = 1 OR most IS NOT NULL),
      jsonb_object_agg(name, $s.rate_json(one)) FILTER (WHERE with_rates AND rate_limit IS NOT NULL)
    INTO limits, rates FROM $s.queues one;
  IF limits IS NOT NULL THEN queues := queues || ARRAY(SELECT jsonb_object_keys(limits)); END IF;
  IF rates IS NOT NULL THEN queues := queues || ARRAY(SELECT jsonb_object_keys(rates)); END IF;
  IF cardinality(queues) > 0 THEN PERFORM $s.lock_queues(queues); END IF;
END $$;

CREATE FUNCTION $s.late_start(r $s.runs, rate json, at float8) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  most float8 := rate->>'limit';
  per float8 := rate->>'perMs';
  s $s.queue_starts;
  counted float8 := 0;
  last int;
BEGIN
  IF most IS NULL THEN RETURN NULL; END IF;
  SELECT * INTO s FROM $s.queue_starts WHERE lane = r.lane;
  WHILE s.instants[1] + per <= at LOOP
    s.instants := s.instants[2:]; s.counts := s.counts[2:];
  END LOOP;
  last := coalesce(cardinality(s.instants), 0);
  FOR place IN REVERSE last..1 LOOP
    counted := counted + s.counts[place];
    IF counted >= most THEN RETURN s.instants[place] + per; END IF;
  END LOOP;
  at := greatest(at, s.instants[last]);
  IF s.instants[last] = at OR (most > ${MOST_EXACT} AND at - s.instants[last - 1] < per / ${MOST_EXACT}) THEN
    s.instants[last] := at; s.counts[last] := s.counts[last] + 1;
  ELSE
    s.instants := array_append(s.instants, at); s.counts := array_append(s.counts, 1::float8);
  END IF;
  INSERT INTO $s.queue_starts AS o (lane, instants, counts, over_at) VALUES (r.lane, s.instants, s.counts, at + per)
    ON CONFLICT (lane) DO UPDATE SET instants = excluded.instants, counts = excluded.counts, over_at = excluded.over_at;
  RETURN NULL;
END $$;

CREATE FUNCTION $s.rate_json(one $s.queues) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN one.rate_limit IS NOT NULL THEN jsonb_build_object('limit', one.rate_limit, 'perMs', one.rate_per_ms) END
$$;

CREATE FUNCTION $s.get_queue(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg(json_build_array(o, json_build_object('slots', (SELECT count(*) FROM $s.runs WHERE slot = 1 AND queue = q->>'name'),
      'refused', (SELECT count(*) FROM $s.runs WHERE reserved = 1 AND queue = q->>'name'),
      'starts', (SELECT coalesce(json_agg(json_build_object('at', start.at, 'count', start.count) ORDER BY start.at), '[]')
        FROM $s.queue_starts s CROSS JOIN LATERAL unnest(s.instants, s.counts) AS start(at, count) WHERE s.lane = q->>'lane'))) ORDER BY place)
  FROM json_array_elements(requests) WITH ORDINALITY AS asked(q, place) LEFT JOIN $s.queues o ON o.name = q->>'name'
$$;

CREATE FUNCTION $s.list_queues(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg((SELECT coalesce(json_agg(o ORDER BY o.name), '[]') FROM $s.queues o))
  FROM json_array_elements(requests)
$$;

CREATE FUNCTION $s.set_queue(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q json := requests->0;
  one $s.queues;
BEGIN
  PERFORM pg_advisory_xact_lock($space, 2050);
  IF q->>'fence_run' IS NOT NULL AND NOT $s.holds(q->>'fence_run', (q->>'fence_epoch')::int, q->>'by_owner') THEN
    RETURN '["stale"]';
  END IF;
  SELECT * INTO one FROM $s.queues WHERE name = q->>'name';
  one.name := q->>'name';
  one.paused := coalesce((q->>'isPaused')::boolean::int, one.paused, 0);
  IF q->'limit' IS NOT NULL THEN
    one.most := (q->>'limit')::float8;
    one.limited_at := CASE WHEN one.most IS NOT NULL THEN (q->>'now')::float8 END;
  END IF;
  IF q->'rate' IS NOT NULL THEN
    one.rate_limit := (q->'rate'->>'limit')::float8;
    one.rate_per_ms := (q->'rate'->>'perMs')::float8;
    one.rated_at := CASE WHEN one.rate_limit IS NOT NULL THEN (q->>'now')::float8 END;
  END IF;
  DELETE FROM $s.queues WHERE name = one.name;
  IF one.paused = 1 OR one.most IS NOT NULL OR one.rate_limit IS NOT NULL THEN INSERT INTO $s.queues SELECT one.*; END IF;
  RETURN json_build_array(one);
END $$;
`
