/** Ends are stored within this time, but for those of tokens that time out while no engine is there. */
const SETTLING_MS = 60_000

/**
 * `prune`: drops what ended first, until `most` records are gone or nothing more may go. `count_ended`: how many have ended.
 * The setting `prune-count` says how many of them ended before an instant, so that a batch counts only those that ended
 * later. All are counted again once batches have counted as many as that; then ends that were stored late are counted too.
 */
export const PRUNE_FUNCTIONS: string = `
CREATE FUNCTION $s.ended_before(until float8, at float8, most int)
RETURNS TABLE (id text, ended_at float8, is_run boolean) LANGUAGE sql AS $$
  (SELECT r.id, r.ended_at, true FROM $s.runs r WHERE r.ended_at < until
    AND (r.key_expires_at IS NULL OR r.key_expires_at <= at)
    AND NOT EXISTS (SELECT 1 FROM $s.runs root WHERE root.id = r.root_id AND $s.is_live(root.status))
    AND NOT EXISTS (SELECT 1 FROM $s.runs asker
      WHERE asker.id = r.key_scope AND r.key_expires_at IS NULL AND $s.is_live(asker.status))
    AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = 'run:' || r.id)
    AND NOT EXISTS (SELECT 1 FROM $s.tokens b JOIN $s.runs binder ON binder.id = b.run_id
      WHERE b.output = to_json(r.id)::text AND b.kind = 'BINDING' AND b.key_scope = b.run_id AND $s.is_live(binder.status))
    ORDER BY r.ended_at, r.seq LIMIT most)
  UNION ALL
  (SELECT t.id, t.ended_at, false FROM $s.tokens t WHERE t.ended_at < until
    AND (t.key_expires_at IS NULL OR t.key_expires_at <= at)
    AND NOT EXISTS (SELECT 1 FROM $s.runs creator WHERE creator.id = t.run_id AND ($s.is_live(creator.status)
      OR EXISTS (SELECT 1 FROM $s.runs root WHERE root.id = creator.root_id AND $s.is_live(root.status))))
    AND NOT (t.run_id IS NULL AND t.kind = 'MANUAL' AND t.status = 'COMPLETED' AND coalesce(t.timeout_at, 0) > at)
    AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id)
    ORDER BY t.ended_at, t.seq LIMIT most)
$$;

CREATE FUNCTION $s.known_count(OUT settled_at float8, OUT settled bigint, OUT counted bigint) LANGUAGE sql STABLE AS $$
  SELECT (known->>'at')::float8, (known->>'settled')::bigint, (known->>'counted')::bigint
  FROM (SELECT value::json FROM $s.settings WHERE name = 'prune-count') AS one(known)
$$;

CREATE FUNCTION $s.note_count(settled_at float8, settled bigint, counted bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO $s.settings AS s (name, value)
    VALUES ('prune-count', json_build_object('at', settled_at, 'settled', settled, 'counted', counted)::text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
$$;

CREATE FUNCTION $s.count_ended(at float8, INOUT settled_at float8, INOUT settled bigint, INOUT counted bigint, OUT total bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  since float8 := settled_at;
  newly_settled bigint;
  newly_counted bigint;
BEGIN
  settled_at := at - ${SETTLING_MS};
  IF since IS NULL OR since > settled_at OR counted >= settled THEN
    since := '-Infinity'; settled := 0; counted := 0;
  END IF;
  SELECT count(*), count(*) FILTER (WHERE ended_at < settled_at) INTO newly_counted, newly_settled FROM (
    SELECT ended_at FROM $s.runs WHERE ended_at >= since UNION ALL
    SELECT ended_at FROM $s.tokens WHERE ended_at >= since) AS recent;
  total := settled + newly_counted;
  settled := settled + newly_settled;
  IF since > '-Infinity' THEN counted := counted + newly_counted; END IF;
END $$;

CREATE FUNCTION $s.drop_run(run text, most int, settled_at float8, OUT records int, OUT ended int, OUT settled int)
LANGUAGE plpgsql AS $$
DECLARE
  gone int;
  old_tags text[];
  run_ended_at float8;
BEGIN
  records := 0; ended := 0; settled := 0;
  SELECT tag_list INTO old_tags FROM $s.runs WHERE id = run FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM $s.streams WHERE run_id = run) THEN
    DELETE FROM $s.chunks c WHERE (c.run_id, c.key, c.first) IN
      (SELECT o.run_id, o.key, o.first FROM $s.chunks o WHERE o.run_id = run LIMIT 1000);
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone = 1000 THEN
      records := most;
      RETURN;
    END IF;
    DELETE FROM $s.writers WHERE run_id = run;
    DELETE FROM $s.streams WHERE run_id = run;
  END IF;
  WITH dropped AS (
    DELETE FROM $s.tokens WHERE id IN (
      SELECT t.id FROM $s.tokens t WHERE t.run_id = run AND t.kind <> 'MANUAL'
        AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id) LIMIT most FOR UPDATE SKIP LOCKED) RETURNING ended_at)
    SELECT count(*), count(ended_at), count(*) FILTER (WHERE ended_at < settled_at) INTO records, ended, settled
      FROM dropped;
  IF records >= most THEN RETURN; END IF;
  DELETE FROM $s.run_tags WHERE run_id = run AND tag = ANY (old_tags);
  DELETE FROM $s.runs r WHERE id = run RETURNING r.ended_at INTO run_ended_at;
  records := records + 1; ended := ended + 1;
  IF run_ended_at < settled_at THEN settled := settled + 1; END IF;
END $$;

CREATE FUNCTION $s.prune_one(q record) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  one record;
  part record;
  known record;
  surplus bigint := 0;
  dropped bigint := 0;
  settled bigint := 0;
  budget int := q.most;
  old_tags text[];
BEGIN
  DELETE FROM $s.owners o WHERE o.lost = 1 AND o.until < q.before
    AND NOT EXISTS (SELECT 1 FROM $s.runs r WHERE r.owner = o.owner);
  DELETE FROM $s.queue_starts WHERE lane IN (
    SELECT lane FROM $s.queue_starts WHERE over_at <= q.now FOR UPDATE SKIP LOCKED);
  SELECT * INTO known FROM $s.known_count();
  IF q.keep IS NOT NULL THEN
    SELECT * INTO known FROM $s.count_ended(q.now, known.settled_at, known.settled, known.counted);
    surplus := known.total - q.keep;
  END IF;
  FOR one IN SELECT * FROM $s.ended_before(CASE WHEN surplus > 0 THEN 'Infinity' ELSE q.before END, q.now, q.most)
    ORDER BY 2
  LOOP
    EXIT WHEN budget <= 0 OR (one.ended_at >= q.before AND dropped >= surplus);
    IF one.is_run THEN
      SELECT * INTO part FROM $s.drop_run(one.id, budget, known.settled_at);
      budget := budget - part.records;
      dropped := dropped + part.ended;
      settled := settled + part.settled;
    ELSE
      DELETE FROM $s.tokens WHERE id IN (SELECT id FROM $s.tokens WHERE id = one.id FOR UPDATE SKIP LOCKED)
        RETURNING tag_list INTO old_tags;
      IF FOUND THEN
        budget := budget - 1; dropped := dropped + 1;
        IF one.ended_at < known.settled_at THEN settled := settled + 1; END IF;
      END IF;
      DELETE FROM $s.token_tags WHERE token_id = one.id AND tag = ANY (old_tags);
    END IF;
  END LOOP;
  IF q.keep IS NOT NULL OR settled > 0 THEN
    PERFORM $s.note_count(known.settled_at, known.settled - settled, known.counted);
  END IF;
  RETURN q.most - greatest(budget, 0);
END $$;

CREATE FUNCTION $s.prune(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q record;
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(before float8, keep bigint, most int, now float8);
  PERFORM pg_advisory_xact_lock($space, 2049);
  RETURN json_build_array($s.prune_one(q));
END $$;
`
