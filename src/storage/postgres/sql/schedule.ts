/**
 * Schedules that were created. They are few, and are settings: `schedules` is the number of changes, `schedules/` and its
 * id the text of one. A change locks the number first, so that changes come one after the other.
 */
export const SCHEDULE_FUNCTIONS: string = `
CREATE FUNCTION $s.get_schedules(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg((SELECT value FROM $s.settings WHERE name = 'schedules/' || (q->>'id')))
  FROM json_array_elements(requests) AS q
$$;

CREATE FUNCTION $s.list_schedules(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_agg(CASE WHEN now_at.revision IS DISTINCT FROM q->>'known' THEN
    json_build_object('revision', now_at.revision, 'schedules', (
      SELECT coalesce(json_agg(json_build_object('id', substr(name, 11), 'text', value) ORDER BY name), '[]')
      FROM $s.settings WHERE name >= 'schedules/' AND name < 'schedules0')) END)
  FROM json_array_elements(requests) AS q,
    (SELECT coalesce((SELECT value FROM $s.settings WHERE name = 'schedules'), '0') AS revision) AS now_at
$$;

CREATE FUNCTION $s.put_schedule(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q json := requests->0;
  setting text := 'schedules/' || (q->>'id');
  before text;
BEGIN
  INSERT INTO $s.settings (name, value) VALUES ('schedules', '0') ON CONFLICT DO NOTHING;
  PERFORM 1 FROM $s.settings WHERE name = 'schedules' FOR UPDATE;
  IF q->>'fence_run' IS NOT NULL AND NOT $s.holds(q->>'fence_run', (q->>'fence_epoch')::int, q->>'by_owner') THEN
    RETURN '["stale"]';
  END IF;
  SELECT value INTO before FROM $s.settings WHERE name = setting;
  IF before IS DISTINCT FROM q->>'expected' THEN RETURN '[false]'; END IF;
  IF q->>'text' IS NULL THEN DELETE FROM $s.settings WHERE name IN (setting, 'mark schedule/' || (q->>'id'));
  ELSE INSERT INTO $s.settings AS s (name, value) VALUES (setting, q->>'text')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
  END IF;
  UPDATE $s.settings SET value = (value::bigint + 1)::text WHERE name = 'schedules';
  RETURN '[true]';
END $$;
`
