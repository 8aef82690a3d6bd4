import { BY_INDEX } from './plans.ts'

/** A batch drops no more rows of chunks: more are left to the next. */
const MOST_CHUNKS = 10_000
/**
 * Drops the tags of the records in `gone`, each by its place in the index: where the server takes the table for empty, it would read the whole of it for each
 * record.
 */
const untag = (table: string, id: string): string => `DELETE FROM $s.${table} WHERE ctid = ANY (ARRAY(
      SELECT tagged.place FROM (SELECT gone.id, unnest(gone.tag_list) AS tag FROM gone) AS own CROSS JOIN LATERAL (
        SELECT x.ctid AS place FROM $s.${table} x WHERE x.tag = own.tag AND x.${id} = own.id OFFSET 0) AS tagged))`

/** Ends are stored within this time, but for those of tokens that time out while no engine is there. */
const SETTLING_MS = 60_000

/**
 * `prune`: drops what ended first, until `most` records are gone or nothing more may go. `count_ended`: how many have ended.
 * The setting `prune-count` says how many of them ended before an instant, so that a batch counts only those that ended
 * later. All are counted again once batches have counted as many as that; then ends that were stored late are counted too.
 *
 * `batch_to_prune`: the records of a batch. What ended first comes first, and a run after the tokens that go with it (`part_ids`), so that a run with
 * more than a batch of these stays until they are gone (`last_of`). All go in one statement for each table: one for each record costs the server twice as much.
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

CREATE FUNCTION $s.batch_to_prune(
  q record, surplus bigint, OUT run_ids text[], OUT token_ids text[], OUT part_ids text[], OUT last_of text)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(one.id) FILTER (WHERE one.is_run),
      array_agg(one.id) FILTER (WHERE NOT one.is_run AND one.of_run IS NULL),
      array_agg(one.id) FILTER (WHERE one.of_run IS NOT NULL),
      (array_agg(one.of_run ORDER BY one.place DESC, one.is_run DESC))[1]
    INTO run_ids, token_ids, part_ids, last_of FROM (
    SELECT record.*, count(record.ended_at)
      OVER (ORDER BY record.place GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead FROM (
      SELECT DISTINCT ON (taken.is_run, taken.id) taken.* FROM (
        WITH ended AS (
          SELECT e.*, row_number() OVER (ORDER BY e.ended_at) AS place
          FROM $s.ended_before(CASE WHEN surplus > 0 THEN 'Infinity' ELSE q.before END, q.now, q.most) e)
        SELECT e.id, e.ended_at, e.is_run, NULL AS of_run, e.place, e.ended_at AS reached FROM ended e
        UNION ALL
        SELECT part.id, part.ended_at, false, e.id, e.place, e.ended_at FROM ended e CROSS JOIN LATERAL (
          SELECT t.id, t.ended_at FROM $s.tokens t WHERE t.run_id = e.id AND t.kind <> 'MANUAL'
            AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id) OFFSET 0) AS part
          WHERE e.is_run
      ) AS taken ORDER BY taken.is_run, taken.id, taken.place) AS record
    ORDER BY record.place, record.is_run LIMIT q.most) AS one
  WHERE one.reached < q.before OR one.ahead < surplus;
END $$;

CREATE FUNCTION $s.drop_streams(INOUT run_ids text[], OUT is_rest boolean) LANGUAGE plpgsql AS $$
DECLARE
  gone int;
BEGIN
  is_rest := false;
  IF NOT EXISTS (SELECT 1 FROM $s.streams WHERE run_id = ANY (run_ids)) THEN RETURN; END IF;
  DELETE FROM $s.chunks c WHERE (c.run_id, c.key, c.first) IN (
    SELECT o.run_id, o.key, o.first FROM $s.chunks o WHERE o.run_id = ANY (run_ids) LIMIT ${MOST_CHUNKS});
  GET DIAGNOSTICS gone = ROW_COUNT;
  is_rest := gone = ${MOST_CHUNKS};
  IF is_rest THEN
    run_ids := ARRAY(SELECT id FROM unnest(run_ids) AS id WHERE NOT EXISTS (SELECT 1 FROM $s.chunks WHERE run_id = id));
  END IF;
  DELETE FROM $s.writers WHERE run_id = ANY (run_ids);
  DELETE FROM $s.streams WHERE run_id = ANY (run_ids);
END $$;

CREATE FUNCTION $s.prune_one(q record) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  batch record;
  part record;
  known record;
  surplus bigint := 0;
  dropped bigint := 0;
  settled bigint := 0;
  is_rest boolean;
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
  SELECT * INTO batch FROM $s.batch_to_prune(q, surplus);
  batch.run_ids := ARRAY(SELECT $s.lock_free(batch.run_ids));
  batch.token_ids := batch.token_ids || ARRAY(SELECT t.id FROM $s.tokens t WHERE t.id = ANY (batch.part_ids)
    AND t.run_id = ANY (batch.run_ids || ARRAY(SELECT $s.lock_free(ARRAY[batch.last_of]))));
  WITH gone AS (
    DELETE FROM $s.tokens WHERE id IN (
      SELECT t.id FROM $s.tokens t WHERE t.id = ANY (batch.token_ids)
        AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id) FOR UPDATE OF t SKIP LOCKED)
    RETURNING id, tag_list, ended_at),
  untagged AS (
    ${untag('token_tags', 'token_id')})
  SELECT count(*), count(*) FILTER (WHERE ended_at < known.settled_at) INTO dropped, settled FROM gone;
  SELECT * INTO batch.run_ids, is_rest FROM $s.drop_streams(batch.run_ids);
  WITH gone AS (
    DELETE FROM $s.runs WHERE id = ANY (batch.run_ids) RETURNING id, tag_list, ended_at),
  untagged AS (
    ${untag('run_tags', 'run_id')})
  SELECT dropped + count(*), settled + count(*) FILTER (WHERE ended_at < known.settled_at) INTO dropped, settled FROM gone;
  IF q.keep IS NOT NULL OR settled > 0 THEN
    PERFORM $s.note_count(known.settled_at, known.settled - settled, known.counted);
  END IF;
  RETURN CASE WHEN is_rest THEN q.most ELSE dropped END;
END $$;

CREATE FUNCTION $s.prune(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  q record;
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(before float8, keep bigint, most int, now float8);
  PERFORM pg_advisory_xact_lock($space, 2049);
  RETURN json_build_array($s.prune_one(q));
END $$;
`
