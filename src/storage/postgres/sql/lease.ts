import { LEASE_COLUMNS } from '../../../generated/lease-record.ts'
import { OLDEST_FIRST, resumedLine } from '../../sql-rows.ts'
import { ALONG_INDEX, BY_CONDITION, BY_INDEX, LOCK_PATIENCE_MS } from './plans.ts'

/**
 * Leases and ticks. A lease that has ended is taken with `SKIP LOCKED`: the transaction that has it locked deals
 * with it. A tick, a claim and the end of an engine wait for locks of others no longer than LOCK_PATIENCE_MS: a caller may keep open the transaction
 * that has completed a token of a lost owner's run, and the lease of the engine that looks must not end with it. The owner is lost
 * by a later tick then, with all its runs; of due tokens those with a run that is locked stay for a later tick. What is due and locked
 * is looked at again after that time, and not at once. An engine that cannot hand its runs back in that time hands back what it
 * executes, as far as that is free, and ends its lease as if it had died: others take the rest over once that is free.
 *
 * What a run that is handed back waits for is locked too: a release, which locks no run, would drop it between two looks at it.
 */
export const LEASE_FUNCTIONS: string = `
CREATE FUNCTION $s.abandon_runs(gone text, at float8, dies boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE $s.runs SET held = 0, reserved = 0 WHERE owner = gone;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM 1 FROM $s.waits WHERE run_id = ANY ($s.runs_of(ARRAY[gone])) FOR UPDATE;
  UPDATE $s.runs SET
      line = CASE WHEN sleep.is_over THEN ${resumedLine('runs', 'dies')} END,
      line_at = CASE WHEN sleep.is_over THEN ${OLDEST_FIRST} END,
      look_at = CASE WHEN NOT sleep.is_over THEN sleep.due_at END
    FROM (
      SELECT held.id AS run_id, min(t.due_at) AS due_at,
        held.status = 'EXECUTING' OR held.returned = 1 OR coalesce(max(w.ready), 0) = 1
          OR coalesce(min(t.due_at) <= at, false) AS is_over
      FROM $s.runs held LEFT JOIN $s.waits w ON w.run_id = held.id LEFT JOIN $s.tokens t ON t.id = w.token_id
      WHERE held.owner = gone GROUP BY held.id
    ) AS sleep WHERE id = sleep.run_id;
END $$;

CREATE FUNCTION $s.runs_of(owners text[]) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(SELECT id FROM $s.runs WHERE owner = ANY (owners));
END $$;

CREATE FUNCTION $s.lose_all(at float8) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  usual text := current_setting('lock_timeout');
  gone text[];
BEGIN
  PERFORM set_config('lock_timeout', '${LOCK_PATIENCE_MS}', true);
  PERFORM pg_advisory_xact_lock($space, 2048);
  gone := ARRAY(SELECT owner FROM $s.owners WHERE lost = 0 AND until <= at ORDER BY owner FOR UPDATE SKIP LOCKED);
  PERFORM $s.lock_runs($s.runs_of(gone), '{}', '{}');
  UPDATE $s.owners o SET lost = 1, executing = (SELECT count(*) FROM $s.runs r WHERE r.owner = o.owner AND (r.status || '') = 'EXECUTING')
    WHERE owner = ANY (gone);
  PERFORM set_config('lock_timeout', usual, true);
  RETURN gone;
EXCEPTION WHEN lock_not_available THEN
  RETURN NULL;
END $$;

CREATE FUNCTION $s.lose_free(at float8) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  one text;
  gone text[] := '{}';
BEGIN
  IF NOT pg_try_advisory_xact_lock($space, 2048) THEN RETURN gone; END IF;
  FOR one IN SELECT owner FROM $s.owners WHERE lost = 0 AND until <= at ORDER BY owner FOR UPDATE SKIP LOCKED
  LOOP
    IF NOT EXISTS (SELECT id FROM $s.runs WHERE owner = one EXCEPT SELECT $s.lock_free($s.runs_of(ARRAY[one]))) THEN
      gone := gone || one;
    END IF;
  END LOOP;
  UPDATE $s.owners o SET lost = 1, executing = (SELECT count(*) FROM $s.runs r WHERE r.owner = o.owner AND (r.status || '') = 'EXECUTING')
    WHERE owner = ANY (gone);
  RETURN gone;
END $$;

CREATE FUNCTION $s.lose_leases(at float8) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM $s.owners WHERE lost = 0 AND until <= at) THEN RETURN '{}'; END IF;
  RETURN coalesce($s.lose_all(at), $s.lose_free(at));
END $$;

CREATE FUNCTION $s.lock_due_waiters(token_ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  usual text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', '${LOCK_PATIENCE_MS}', true);
  PERFORM $s.lock_waiters($s.waiters_of(token_ids));
  PERFORM set_config('lock_timeout', usual, true);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

CREATE FUNCTION $s.with_free_waiters(token_ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  free text[] := ARRAY(SELECT $s.lock_free($s.waiters_of(token_ids)));
BEGIN
  RETURN ARRAY(SELECT id FROM unnest(token_ids) AS id WHERE NOT EXISTS (
    SELECT 1 FROM $s.waits WHERE token_id = id AND ready = 0 AND run_id <> ALL (free)));
END $$;

CREATE FUNCTION $s.abandon_all(gone text[], at float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one text;
BEGIN
  FOREACH one IN ARRAY gone LOOP PERFORM $s.abandon_runs(one, at, true); END LOOP;
END $$;

CREATE FUNCTION $s.renew_lease(q record, OUT is_alive boolean, OUT lease_until float8, OUT told text[])
LANGUAGE plpgsql AS $$
DECLARE
  mine $s.owners;
  is_alone boolean := NOT EXISTS (SELECT 1 FROM $s.owners WHERE lost = 0 AND owner <> q.owner);
BEGIN
  SELECT * INTO mine FROM $s.owners WHERE owner = q.owner;
  is_alive := mine.lost IS DISTINCT FROM 1;
  IF NOT is_alive THEN RETURN; END IF;
  IF mine.owner IS NULL OR is_alone OR EXISTS (
    SELECT 1 FROM $s.owners WHERE lost = 0 AND owner <> q.owner AND (until IS NULL OR company = 0)) THEN
    PERFORM pg_advisory_xact_lock($space, 2048);
    is_alone := NOT EXISTS (SELECT 1 FROM $s.owners WHERE lost = 0 AND owner <> q.owner);
  END IF;
  IF q.endless AND is_alone AND mine.company IS DISTINCT FROM 1 THEN
    lease_until := NULL;
  ELSE
    lease_until := q.lease_until;
  END IF;
  INSERT INTO $s.owners AS o (owner, until, lost, company, claim, host, pid, heard_at)
    VALUES (q.owner, lease_until, 0, (NOT is_alone)::int, 0, q.host, q.pid, q.now)
    ON CONFLICT (owner) DO UPDATE
      SET until = excluded.until, company = excluded.company, heard_at = excluded.heard_at WHERE o.lost = 0;
  is_alive := FOUND;
  IF NOT is_alive OR is_alone THEN RETURN; END IF;
  WITH ended AS (
    UPDATE $s.owners SET until = q.lease_until, company = 1, heard_at = NULL
    WHERE owner <> q.owner AND lost = 0 AND until IS NULL RETURNING owner)
    SELECT array_agg(owner) INTO told FROM ended;
  UPDATE $s.owners SET company = 1 WHERE owner IN (
    SELECT owner FROM $s.owners WHERE owner <> q.owner AND lost = 0 AND company = 0 FOR UPDATE SKIP LOCKED);
END $$;

CREATE FUNCTION $s.next_due(since float8, is_rest_locked boolean) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  soon float8 := CASE WHEN is_rest_locked THEN since + ${LOCK_PATIENCE_MS} END;
BEGIN
  RETURN (SELECT json_build_object('at', at, 'what', what) FROM (
    (SELECT look_at AS at, 'run ' || id AS what, 1 AS place FROM $s.runs WHERE look_at > since ORDER BY look_at LIMIT 1)
    UNION ALL
    (SELECT due_at, 'token ' || id, 0 FROM $s.tokens WHERE due_at > since ORDER BY due_at LIMIT 1)
    UNION ALL
    (SELECT coalesce(soon, look_at), 'run ' || id, 1 FROM $s.runs WHERE look_at <= since ORDER BY look_at LIMIT 1)
    UNION ALL
    (SELECT coalesce(soon, due_at), 'token ' || id, 0 FROM $s.tokens WHERE due_at <= since ORDER BY due_at LIMIT 1)
  ) AS due ORDER BY at, place LIMIT 1);
END $$;

CREATE FUNCTION $s.ready_of(of_owner text) RETURNS json LANGUAGE plpgsql STABLE ${BY_CONDITION} AS $$
BEGIN
  RETURN (SELECT json_agg(json_build_array(w.token_id, w.run_id)) FROM $s.waits w WHERE w.owner = of_owner AND w.ready = 1
    AND (SELECT r.held FROM $s.runs r WHERE r.id = w.run_id) = 1);
END $$;

CREATE FUNCTION $s.next_lease(but_of text) RETURNS json LANGUAGE plpgsql STABLE ${ALONG_INDEX} AS $$
BEGIN
  RETURN (SELECT json_build_object('at', o.until, 'what', 'lease ' || o.owner) FROM $s.owners o
    WHERE o.lost = 0 AND o.owner <> but_of AND o.until IS NOT NULL
      AND (SELECT true FROM $s.runs r WHERE r.owner >= o.owner AND r.owner <= o.owner AND r.held = 1 ORDER BY r.owner LIMIT 1)
    ORDER BY o.until LIMIT 1);
END $$;

CREATE FUNCTION $s.held_by(of_owner text) RETURNS bigint LANGUAGE plpgsql STABLE ${ALONG_INDEX} AS $$
BEGIN
  RETURN (SELECT count(*) FROM (
    SELECT 1 FROM $s.runs WHERE owner >= of_owner AND owner <= of_owner AND held = 1 ORDER BY owner OFFSET 0) AS mine);
END $$;

CREATE FUNCTION $s.get_due(requests json) RETURNS json LANGUAGE plpgsql STABLE
${BY_INDEX} AS $$
DECLARE
  most int := requests->0->>'most';
BEGIN
  RETURN json_build_array((SELECT coalesce(json_agg(json_build_object('at', at, 'what', what)), '[]') FROM (
    (SELECT look_at AS at, 'run ' || id AS what FROM $s.runs WHERE look_at IS NOT NULL ORDER BY look_at LIMIT most)
    UNION ALL
    (SELECT due_at, 'token ' || id FROM $s.tokens WHERE due_at IS NOT NULL ORDER BY due_at LIMIT most)
    ORDER BY at LIMIT most) AS due));
END $$;

CREATE FUNCTION $s.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8
$$;

CREATE FUNCTION $s.get_time(requests json) RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT json_build_array($s.now_ms())
$$;

CREATE FUNCTION $s.tick_one(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  gone text[] := $s.lose_leases(q.now);
  is_stirred boolean := cardinality(gone) > 0;
  lease record;
  t $s.tokens;
  due_ids text[] := '{}';
  due record;
  settled json[] := '{}';
  expired json[];
BEGIN
  SELECT * INTO lease FROM $s.renew_lease(q);
  IF lease.is_alive THEN
    due_ids := ARRAY(SELECT id FROM $s.tokens WHERE due_at <= q.now
      ORDER BY due_at, seq LIMIT q.most FOR NO KEY UPDATE SKIP LOCKED);
  END IF;
  IF cardinality(due_ids) > 0 AND NOT $s.lock_due_waiters(due_ids) THEN due_ids := $s.with_free_waiters(due_ids); END IF;
  IF is_stirred THEN PERFORM $s.abandon_all(gone, q.now); END IF;
  IF NOT lease.is_alive THEN
    RETURN json_build_object('alive', false, 'isStirred', is_stirred);
  END IF;
  FOR t IN SELECT * FROM $s.tokens WHERE id = ANY (due_ids) ORDER BY due_at, seq
  LOOP
    SELECT * INTO due FROM $s.settle_due(t, q.now, NULL, false);
    IF due.now_settled THEN settled := settled || json_build_array($s.token_json(due.t), due.ready); END IF;
  END LOOP;
  expired := $s.sweep_runs(q.now, q.most - cardinality(settled));
  RETURN json_build_object('alive', true, 'isStirred', is_stirred, 'told', lease.told,
    'settled', array_to_json(settled), 'expired', array_to_json(expired),
    'ready', $s.ready_of(q.owner),
    'claimable', (SELECT line FROM $s.runs WHERE line IS NOT NULL ORDER BY task_id, line, line_at, seq LIMIT 1) IS NOT NULL,
    'nextDue', $s.next_due(q.now, cardinality(settled) + cardinality(expired) < q.most),
    'nextLease', $s.next_lease(q.owner),
    'leaseUntil', lease.lease_until,
    'held', CASE WHEN q.census THEN $s.held_by(q.owner) END,
    'time', $s.now_ms());
END $$;

CREATE FUNCTION $s.tick(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  answers json[] := '{}';
BEGIN
  FOR q IN SELECT * FROM json_to_recordset(requests)
    AS x(owner text, lease_until float8, endless boolean, now float8, census boolean, most int, host text, pid int)
  LOOP
    answers := answers || $s.tick_one(q);
  END LOOP;
  RETURN array_to_json(answers);
END $$;

CREATE FUNCTION $s.get_leases(requests json) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_array(coalesce(json_agg(one ORDER BY owner), '[]')) FROM (SELECT ${LEASE_COLUMNS} FROM $s.owners) AS one
$$;

CREATE FUNCTION $s.end_lease(q record) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  usual text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', '${LOCK_PATIENCE_MS}', true);
  DELETE FROM $s.owners WHERE owner = q.owner;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM $s.lock_runs($s.runs_of(ARRAY[q.owner]), '{}', '{}');
  PERFORM $s.abandon_runs(q.owner, q.now, false);
  UPDATE $s.runs SET owner = NULL, updated_at = greatest(updated_at, q.now) WHERE owner = q.owner;
  PERFORM set_config('lock_timeout', usual, true);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  UPDATE $s.owners SET until = q.now WHERE owner = q.owner;
  UPDATE $s.runs SET owner = NULL, held = 0, reserved = 0, line = ${resumedLine('runs', 'false')}, line_at = ${OLDEST_FIRST}, look_at = NULL,
      updated_at = greatest(updated_at, q.now)
    WHERE id IN (SELECT $s.lock_free($s.runs_of(ARRAY[q.owner]))) AND (status || '') = 'EXECUTING';
  RETURN true;
END $$;

CREATE FUNCTION $s.leave(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q record;
  answers json[] := '{}';
BEGIN
  FOR q IN SELECT * FROM json_to_recordset(requests) AS x(owner text, now float8)
  LOOP
    answers := answers || to_json($s.end_lease(q));
  END LOOP;
  RETURN array_to_json(answers);
END $$;
`
