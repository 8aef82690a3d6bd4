import { trialAt } from '../../../contract/suspects.ts'
import { SUSPECTS } from '../../sql-rows.ts'
import { BY_INDEX, IS_IN_LINE, ONE_BY_ONE } from './plans.ts'
import { runAsJson } from './record.ts'

/** The run `r` starts an attempt of its own: it does not go on with one that was interrupted, nor end what has returned. */
const IS_PLANNED = `r.returned = 0 AND r.status IN ('QUEUED', 'DELAYED')`

/** A claim that may take more runs than this waits for its turn once it has met more than so many that another one has locked. */
const FEW = 16
/** How long a claim waits for its turn, or for a run that is locked: longer than most claims take. Meanwhile its engine claims nothing else. */
const PATIENCE_MS = 50

/** A function that takes a lock, or gives up after some time. */
function waitFunction(signature: string, lock: string): string {
  return `CREATE FUNCTION $s.${signature} RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  usual text := current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', '${PATIENCE_MS}', true);
  ${lock};
  PERFORM set_config('lock_timeout', usual, true);
EXCEPTION WHEN lock_not_available THEN
  RETURN;
END $$;
`
}

/**
 * Claims. Runs are taken with `SKIP LOCKED`: the transaction that has one locked deals with it, or only
 * reads it to begin a wait for it: then a claim has passed over a run that no other takes. It waits for that one when it has nothing else
 * to give, and says so when it has. Claims that have room for many runs take turns, lock 2052: else each would look at every run
 * that another one has just locked. They wait only where there are many such runs, and while they hold none: a turn is as long as its commit,
 * or as the wait for a lock that it holds. A run whose end is due stays as it is while a run that waits for this end is locked. Claims and resumes of a limited queue lock it before they count its slots.
 */
export const CLAIM_FUNCTIONS: string = `
CREATE FUNCTION $s.sweep_runs(at float8, most int) RETURNS json[] LANGUAGE plpgsql AS $$
DECLARE
  r $s.runs;
  expired json[] := '{}';
  passed text[] := '{}';
  expires float8;
BEGIN
  WHILE most IS NULL OR cardinality(expired) < most LOOP
    SELECT * INTO r FROM $s.runs WHERE look_at <= at AND id <> ALL (passed)
      ORDER BY look_at, seq LIMIT 1 FOR UPDATE SKIP LOCKED;
    EXIT WHEN NOT FOUND;
    expires := CASE WHEN r.attempt = 0 THEN r.expires_at END;
    IF $s.is_final(r.status) THEN
      r.slot := 0; r.slot_until := NULL; r.updated_at := greatest(r.updated_at, at);
      PERFORM $s.put_run(r, at);
    ELSIF expires <= at AND NOT $s.try_parents(r.id) THEN
      passed := passed || r.id;
    ELSIF expires <= at THEN
      r.finished_at := expires;
      expired := expired || $s.finish_run($s.final_run(r, 'EXPIRED', at), at);
    ELSE
      PERFORM $s.put_run(r, at);
    END IF;
  END LOOP;
  RETURN expired;
END $$;

CREATE FUNCTION $s.start_runs(run_ids text[], q record) RETURNS json[] LANGUAGE plpgsql
${ONE_BY_ONE} AS $$
DECLARE
  answers json[];
BEGIN
  WITH started AS (
    UPDATE $s.runs AS r SET interruptions = interruptions + (status = 'EXECUTING' AND owner IS NOT NULL)::int,
        status = 'EXECUTING', attempt = attempt + 1, policy_attempt = policy_attempt + (${IS_PLANNED})::int,
        owner = q.by_owner, held = 1, reserved = 0, epoch = epoch + 1, slot = 1, wake_at = NULL,
        started_at = coalesce(started_at, q.now), updated_at = greatest(updated_at, q.now),
        line = NULL, line_at = NULL, look_at = NULL,
        version = CASE WHEN ${IS_PLANNED} THEN q.versions->>task_id ELSE version END
      FROM unnest(run_ids) WITH ORDINALITY AS one(run_id, place) WHERE r.id = one.run_id
      RETURNING one.place, ${runAsJson('r')} AS run)
    SELECT array_agg(run ORDER BY place) INTO answers FROM started;
  RETURN answers;
END $$;

CREATE FUNCTION $s.is_guilty(last_owner text, deaths int, q record) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN deaths > q.max_interruptions AND EXISTS (SELECT 1 FROM $s.owners WHERE owner = last_owner AND executing = 1);
END $$;

CREATE FUNCTION $s.end_instead(r $s.runs, q record) RETURNS $s.runs LANGUAGE plpgsql AS $$
DECLARE
  is_death boolean := r.status = 'EXECUTING' AND r.owner IS NOT NULL;
BEGIN
  r.epoch := r.epoch + 1;
  IF r.returned = 1 THEN RETURN $s.final_run(r, 'COMPLETED', q.now); END IF;
  IF NOT is_death OR NOT $s.is_guilty(r.owner, r.interruptions + 1, q) THEN RETURN NULL; END IF;
  r.interruptions := r.interruptions + 1;
  RETURN $s.final_run(r, 'CRASHED', q.now);
END $$;

CREATE FUNCTION $s.has_slot(r $s.runs, limits json) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  most float8 := (limits->>r.queue)::float8;
  taken bigint;
BEGIN
  IF most IS NULL OR r.slot = 1 OR r.returned = 1 THEN RETURN true; END IF;
  taken := (SELECT count(*) FROM $s.runs WHERE slot = 1 AND lane = r.lane);
  IF r.line = 1 THEN taken := taken + (SELECT count(*) FROM $s.runs WHERE reserved = 1 AND lane = r.lane); END IF;
  RETURN taken < most;
END $$;

${waitFunction('wait_for_lock(run_ids text[])', `PERFORM 1 FROM $s.runs WHERE id = ANY (run_ids) AND ${IS_IN_LINE} LIMIT 1 FOR UPDATE`)}
${waitFunction('wait_for_turn()', 'PERFORM pg_advisory_xact_lock($space, 2052)')}
CREATE FUNCTION $s.take_runs(q record) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  c record;
  r $s.runs;
  last_line int := -${SUSPECTS};
  last_at float8 := 0;
  last_seq bigint := 0;
  end_line int := CASE WHEN q.is_trial THEN 0 ELSE 2 END;
  deaths int;
  trial_at int := greatest(${trialAt(0)}, q.max_interruptions);
  watched int := least(q.max_interruptions + 1, trial_at);
  suspects int := coalesce(q.suspects, 0);
  is_trial_due boolean;
  over $s.runs;
  taken json[] := '{}';
  starting text[] := '{}';
  place int := 0;
  ended json[] := $s.sweep_runs(q.now, NULL);
  full_lanes text[] := '{}';
  locked text[] := '{}';
  has_waited boolean := false;
  has_turn boolean := q.most <= ${FEW} OR pg_try_advisory_xact_lock($space, 2052);
  is_any boolean;
  is_full boolean := false;
  start_at float8;
  next_start_at float8;
BEGIN
  <<scan>>
  WHILE place < q.most LOOP
    is_any := false;
    FOR c IN
      SELECT one.* FROM unnest(q.task_ids) AS task(id) CROSS JOIN LATERAL (
        SELECT o.id, o.line, o.line_at, o.seq, o.owner FROM $s.runs o
        WHERE o.task_id = task.id AND o.line IS NOT NULL AND o.line < end_line
          AND (o.line, o.line_at, o.seq) > (last_line, last_at, last_seq)
          AND (o.slot = 1 OR o.returned = 1 OR (o.line || ' ' || o.lane) <> ALL (full_lanes))
        ORDER BY o.line, o.line_at, o.seq LIMIT least(q.most - place, 200)) AS one
      ORDER BY one.line, one.line_at, one.seq LIMIT least(q.most - place, 200)
    LOOP
      is_any := true;
      last_line := c.line; last_at := c.line_at; last_seq := c.seq;
      deaths := c.line + ${SUSPECTS};
      IF c.line < 0 AND NOT $s.is_guilty(c.owner, deaths, q) THEN
        IF deaths >= trial_at AND q.is_trial IS NOT TRUE THEN
          is_trial_due := true;
          CONTINUE;
        ELSIF deaths < trial_at AND (q.is_trial OR suspects >= 2 ^ least(trial_at - deaths, 30)) THEN
          is_full := true;
          -- Only those that may have to end, or to be executed alone, are worth a look.
          CONTINUE WHEN deaths >= watched;
          last_line := watched - ${SUSPECTS} - 1; last_at := 'Infinity';
          CONTINUE scan;
        END IF;
      END IF;
      SELECT * INTO r FROM $s.runs WHERE id = c.id AND ${IS_IN_LINE} FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        locked := locked || c.id;
        CONTINUE WHEN has_turn OR cardinality(locked) <= ${FEW} OR place + cardinality(ended) > 0;
        PERFORM $s.wait_for_turn();
        has_turn := true;
        locked := '{}'; full_lanes := '{}'; is_full := false;
        last_line := -${SUSPECTS}; last_at := 0; last_seq := 0;
        CONTINUE scan;
      END IF;
      IF q.limits IS NOT NULL AND NOT $s.has_slot(r, q.limits) THEN
        full_lanes := full_lanes || (r.line || ' ' || r.lane);
        is_full := true;
        CONTINUE scan WHEN cardinality(full_lanes) < 100;
        CONTINUE;
      END IF;
      IF q.rates IS NOT NULL AND r.line = 1 THEN
        start_at := $s.late_start(r, q.rates->r.queue, q.now);
        IF start_at IS NOT NULL THEN
          full_lanes := full_lanes || (r.line || ' ' || r.lane);
          next_start_at := least(next_start_at, start_at);
          CONTINUE scan WHEN cardinality(full_lanes) < 100;
          CONTINUE;
        END IF;
      END IF;
      IF r.status IN ('EXECUTING', 'WAITING') OR r.returned = 1 THEN
        over := $s.end_instead(r, q);
        CONTINUE WHEN over.id IS NOT NULL AND NOT $s.try_parents(r.id);
        IF over.id IS NOT NULL THEN
          taken := taken || $s.start_runs(starting, q);
          starting := '{}';
          ended := ended || $s.finish_run(over, q.now);
          full_lanes := '{}'; is_full := false;
          last_line := -${SUSPECTS}; last_at := 0; last_seq := 0;
          CONTINUE scan;
        END IF;
      END IF;
      IF NOT (${IS_PLANNED}) THEN DELETE FROM $s.waits WHERE run_id = r.id; END IF;
      IF r.streams IS NOT NULL THEN PERFORM $s.interrupt_streams(r.id); END IF;
      starting := starting || r.id;
      place := place + 1;
      IF c.line < 0 THEN suspects := suspects + 1; END IF;
      -- Before the slots of its lane are counted again.
      IF q.limits IS NOT NULL THEN
        taken := taken || $s.start_runs(starting, q);
        starting := '{}';
      END IF;
    END LOOP;
    CONTINUE WHEN is_any;
    EXIT WHEN has_waited OR cardinality(locked) = 0 OR place + cardinality(ended) > 0;
    PERFORM $s.wait_for_lock(locked);
    has_waited := true;
    locked := '{}'; full_lanes := '{}'; is_full := false;
    last_line := -${SUSPECTS}; last_at := 0; last_seq := 0;
  END LOOP;
  IF cardinality(starting) > 0 THEN taken := taken || $s.start_runs(starting, q); END IF;
  RETURN json_build_object('runs', array_to_json(taken), 'ended', array_to_json(ended),
    'isPassedOver', cardinality(locked) > 0 AND cardinality(taken) < q.most, 'isHeldBack', nullif(is_full, false),
    'nextStartAt', next_start_at, 'isTrialDue', is_trial_due);
END $$;

CREATE FUNCTION $s.claim_runs(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q record;
  last float8;
  answer json;
  answers json[] := '{}';
  is_owner boolean;
  gone text[];
  limits_set jsonb;
  rates_set jsonb;
BEGIN
  SELECT limits, rates INTO limits_set, rates_set FROM $s.lock_limits(ARRAY(SELECT json_object_keys(named)
    FROM json_to_recordset(requests) AS x(limits json, rates json), unnest(ARRAY[x.limits, x.rates]) AS named
    WHERE named IS NOT NULL), true);
  FOR q IN SELECT * FROM json_to_recordset(requests) AS x(by_owner text, now float8, number float8, task_ids text[],
    most int, limits json, max_interruptions float8, versions json, rates json,
    suspects int, is_trial boolean)
  LOOP
    IF limits_set IS NOT NULL THEN q.limits := (coalesce(q.limits::jsonb, '{}') || limits_set)::json; END IF;
    IF rates_set IS NOT NULL THEN q.rates := (coalesce(q.rates::jsonb, '{}') || rates_set)::json; END IF;
    gone := $s.lose_leases(q.now);
    SELECT claim INTO last FROM $s.owners WHERE owner = q.by_owner AND lost = 0 FOR UPDATE;
    is_owner := FOUND;
    IF cardinality(gone) > 0 THEN PERFORM $s.abandon_all(gone, q.now); END IF;
    IF NOT is_owner OR q.number <= last THEN
      answer := '{"runs":[],"ended":[]}';
    ELSE
      UPDATE $s.owners SET claim = q.number WHERE owner = q.by_owner;
      IF q.most > 0 THEN
        answer := $s.take_runs(q);
      ELSE
        SELECT json_build_object('runs', coalesce(json_agg($s.run_json(r) ORDER BY r.seq), '[]'), 'ended', '[]'::json) INTO answer
          FROM $s.runs r WHERE owner = q.by_owner AND held = 1 AND status = 'EXECUTING';
      END IF;
    END IF;
    answers := answers || json_build_array(answer, cardinality(gone) > 0,
      (SELECT json_agg(name) FROM jsonb_object_keys(limits_set) AS name));
  END LOOP;
  RETURN array_to_json(answers);
END $$;
`
