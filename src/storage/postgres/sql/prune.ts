import { LIVE_STATUSES } from '../../../contract/run-states.ts'
import { textList } from '../../sql-rows.ts'

/** \`prune\`: drops what ended first, until \`most\` records are gone or nothing more may go. */
export const PRUNE_FUNCTIONS: string = `
CREATE FUNCTION $s.is_live(status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT status IN (${textList(LIVE_STATUSES)})
$$;

CREATE FUNCTION $s.ended_before(until float8, at float8, most int)
RETURNS TABLE (id text, ended_at float8, is_run boolean) LANGUAGE sql AS $$
  (SELECT r.id, r.ended_at, true FROM $s.runs r WHERE r.ended_at < until
    AND (r.key_expires_at IS NULL OR r.key_expires_at <= at)
    AND NOT EXISTS (SELECT 1 FROM $s.runs root WHERE root.id = r.root_id AND $s.is_live(root.status))
    AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = 'run:' || r.id)
    ORDER BY r.ended_at, r.seq LIMIT most)
  UNION ALL
  (SELECT t.id, t.ended_at, false FROM $s.tokens t WHERE t.ended_at < until
    AND (t.key_expires_at IS NULL OR t.key_expires_at <= at)
    AND NOT EXISTS (SELECT 1 FROM $s.runs creator WHERE creator.id = t.run_id AND ($s.is_live(creator.status)
      OR EXISTS (SELECT 1 FROM $s.runs root WHERE root.id = creator.root_id AND $s.is_live(root.status))))
    AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id)
    ORDER BY t.ended_at, t.seq LIMIT most)
$$;

CREATE FUNCTION $s.drop_run(run text, most int, OUT records int, OUT ended int) LANGUAGE plpgsql AS $$
DECLARE
  gone int;
  old_tags text[];
BEGIN
  records := 0; ended := 0;
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
    DELETE FROM $s.streams WHERE run_id = run;
  END IF;
  WITH dropped AS (
    DELETE FROM $s.tokens WHERE id IN (
      SELECT t.id FROM $s.tokens t WHERE t.run_id = run AND t.kind <> 'MANUAL'
        AND NOT EXISTS (SELECT 1 FROM $s.waits w WHERE w.token_id = t.id) LIMIT most FOR UPDATE SKIP LOCKED) RETURNING ended_at)
    SELECT count(*), count(ended_at) INTO records, ended FROM dropped;
  IF records >= most THEN RETURN; END IF;
  DELETE FROM $s.run_tags WHERE run_id = run AND tag = ANY (old_tags);
  DELETE FROM $s.runs WHERE id = run;
  records := records + 1; ended := ended + 1;
END $$;

CREATE FUNCTION $s.prune_one(q record) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  one record;
  part record;
  surplus bigint := 0;
  dropped bigint := 0;
  budget int := q.most;
  old_tags text[];
BEGIN
  DELETE FROM $s.owners o WHERE o.lost = 1 AND o.until < q.before
    AND NOT EXISTS (SELECT 1 FROM $s.runs r WHERE r.owner = o.owner);
  IF q.keep IS NOT NULL THEN
    surplus := (SELECT count(*) FROM $s.runs WHERE ended_at IS NOT NULL)
      + (SELECT count(*) FROM $s.tokens WHERE ended_at IS NOT NULL) - q.keep;
  END IF;
  FOR one IN SELECT * FROM $s.ended_before(CASE WHEN surplus > 0 THEN 'Infinity' ELSE q.before END, q.now, q.most)
    ORDER BY 2
  LOOP
    EXIT WHEN budget <= 0 OR (one.ended_at >= q.before AND dropped >= surplus);
    IF one.is_run THEN
      SELECT * INTO part FROM $s.drop_run(one.id, budget);
      budget := budget - part.records;
      dropped := dropped + part.ended;
    ELSE
      DELETE FROM $s.tokens WHERE id IN (SELECT id FROM $s.tokens WHERE id = one.id FOR UPDATE SKIP LOCKED)
        RETURNING tag_list INTO old_tags;
      IF FOUND THEN budget := budget - 1; dropped := dropped + 1; END IF;
      DELETE FROM $s.token_tags WHERE token_id = one.id AND tag = ANY (old_tags);
    END IF;
  END LOOP;
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
