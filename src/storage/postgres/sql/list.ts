import { RUN_STATUSES } from '../../../contract/run-states.ts'
import { textList } from '../../sql-rows.ts'
import { IN_ORDER } from './plans.ts'

const MOST_SETTLED = 500

/** As the indexes by status have it: in that of ids alone a server looks for what it believes to be frequent. */
export const ID_IN_STRAND = `(id || '')`

/** The order of a page, nearest first: the newest, or the oldest that are newer than one. */
export const inOrder = (id: string): string =>
  `ORDER BY CASE WHEN q.newer IS NOT NULL THEN ${id} END, CASE WHEN q.newer IS NULL THEN ${id} END DESC LIMIT q.count`

/** Within the bounds in time, which are a range of ids. */
const isInRange = (id: string): string =>
  `(q.floor IS NULL OR ${id} >= q.floor) AND (q.ceiling IS NULL OR ${id} < q.ceiling)`

/** Within the page and within the bounds in time. */
export const isBeside = (id: string): string =>
  `(q.older IS NULL OR ${id} < q.older) AND (q.newer IS NULL OR ${id} > q.newer) AND ${isInRange(id)}`

const isRunAskedFor = `(q.statuses IS NULL OR r.status = ANY (q.statuses))
        AND (q.task_ids IS NULL OR r.task_id = ANY (q.task_ids))
        AND (q.not_task_ids IS NULL OR r.task_id <> ALL (q.not_task_ids))
        AND (q.is_root IS NULL OR r.parent_id IS NULL)
        AND ${isBeside('r.id')}`

const isTokenAskedFor = `(NOT is_settled OR o.due_at IS NULL OR o.due_at > q.now)
        AND (q.statuses IS NULL OR $s.status_at(o, q.now) = ANY (q.statuses))
        AND (q.key_scope IS NULL OR (o.key_scope = q.key_scope AND o.key_value = q.key_value))
        AND ${isBeside('o.id')}`

/**
 * Lists. One strand of an index for each value that is asked for, in order of ids, and these merged: a sort of all that
 * match, or a scan that looks for them, costs what history costs. A list settles at most ${MOST_SETTLED} tokens that are past their
 * deadline, and those on its page; the rest is as it will be once a tick has come to it.
 */
export const LIST_FUNCTIONS: string = `
CREATE FUNCTION $s.tag_run(run text, tag_list text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO $s.run_tags (tag, run_id) SELECT DISTINCT tag, run FROM unnest(tag_list) AS tag ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION $s.tag_token(token text, tag_list text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO $s.token_tags (tag, token_id) SELECT DISTINCT tag, token FROM unnest(tag_list) AS tag
    ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION $s.run_strands(q record) RETURNS TABLE (in_status text, of_task text) LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
DECLARE
  statuses text[] := coalesce(q.statuses, ARRAY[${textList(RUN_STATUSES)}]);
BEGIN
  FOR in_status IN SELECT DISTINCT unnest(statuses) LOOP
    IF q.task_ids IS NOT NULL THEN
      RETURN QUERY SELECT DISTINCT in_status, task FROM unnest(q.task_ids) AS task;
      CONTINUE;
    END IF;
    of_task := (SELECT min(task_id) FROM $s.runs WHERE status = in_status);
    WHILE of_task IS NOT NULL LOOP
      IF q.not_task_ids IS NULL OR of_task <> ALL (q.not_task_ids) THEN RETURN NEXT; END IF;
      of_task := (SELECT min(task_id) FROM $s.runs WHERE status = in_status AND task_id > of_task);
    END LOOP;
  END LOOP;
END $$;

CREATE FUNCTION $s.run_page(q record) RETURNS text[] LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
BEGIN
  IF q.root IS NOT NULL THEN
    RETURN ARRAY(SELECT r.id FROM $s.runs r WHERE r.root_id = q.root AND r.parent_id IS NOT NULL
      AND (q.tags IS NULL OR r.tag_list && q.tags) AND ${isBeside(ID_IN_STRAND)} AND ${isRunAskedFor}
      ${inOrder(ID_IN_STRAND)});
  ELSIF q.tags IS NOT NULL THEN
    RETURN ARRAY(SELECT one.id FROM (SELECT DISTINCT unnest(q.tags) AS tag) AS wanted CROSS JOIN LATERAL (
      SELECT x.run_id AS id FROM $s.run_tags x CROSS JOIN LATERAL (
        SELECT r.id FROM $s.runs r WHERE r.id = x.run_id AND r.tag_list @> ARRAY[x.tag] AND ${isRunAskedFor} OFFSET 0) AS r
      WHERE x.tag = wanted.tag AND ${isBeside('x.run_id')}
      ${inOrder('x.run_id')}) AS one GROUP BY one.id ${inOrder('one.id')});
  ELSIF q.statuses IS NOT NULL OR q.task_ids IS NOT NULL OR q.not_task_ids IS NOT NULL THEN
    RETURN ARRAY(SELECT one.id FROM $s.run_strands(q) AS strand CROSS JOIN LATERAL (
      SELECT r.id FROM $s.runs r WHERE r.status = strand.in_status AND r.task_id = strand.of_task
        AND ${isBeside(ID_IN_STRAND)}
        AND ${isRunAskedFor}
      ${inOrder(ID_IN_STRAND)}) AS one ${inOrder('one.id')});
  END IF;
  RETURN ARRAY(SELECT r.id FROM $s.runs r WHERE ${isRunAskedFor} ${inOrder('r.id')});
END $$;

CREATE FUNCTION $s.list_runs(requests json) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  q record;
  ids text[];
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(statuses text[], task_ids text[], not_task_ids text[],
    tags text[], root text, is_root boolean, older text, newer text, count int, floor text, ceiling text);
  ids := $s.run_page(q);
  RETURN (SELECT json_build_array(coalesce(json_agg($s.run_json(page.r)), '[]')) FROM (
    SELECT r FROM $s.runs r WHERE r.id = ANY (ids) ${inOrder('r.id')}) AS page);
END $$;

CREATE FUNCTION $s.status_at(o $s.tokens, at float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN o.due_at <= at THEN CASE o.kind WHEN 'SLEEP' THEN 'COMPLETED' ELSE 'TIMED_OUT' END
    ELSE o.status END
$$;

CREATE FUNCTION $s.token_page(q record, is_settled boolean) RETURNS text[] LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
BEGIN
  IF q.tags IS NOT NULL THEN
    RETURN ARRAY(SELECT one.id FROM (SELECT DISTINCT unnest(q.tags) AS tag) AS wanted CROSS JOIN LATERAL (
      SELECT x.token_id AS id FROM $s.token_tags x CROSS JOIN LATERAL (
        SELECT o.id FROM $s.tokens o WHERE o.id = x.token_id AND o.tag_list @> ARRAY[x.tag] AND o.kind = q.kind
          AND ${isTokenAskedFor} OFFSET 0) AS o
      WHERE x.tag = wanted.tag AND ${isBeside('x.token_id')}
      ${inOrder('x.token_id')}) AS one GROUP BY one.id ${inOrder('one.id')});
  ELSIF q.kind = 'MANUAL' AND q.key_scope IS NULL THEN
    RETURN ARRAY(SELECT one.id FROM unnest(ARRAY['WAITING', 'COMPLETED', 'TIMED_OUT']) AS in_status CROSS JOIN LATERAL (
      SELECT o.id FROM $s.tokens o WHERE o.kind = 'MANUAL' AND o.status = in_status AND ${isBeside(ID_IN_STRAND)}
        AND (in_status = 'WAITING' OR q.statuses IS NULL OR in_status = ANY (q.statuses)) AND ${isTokenAskedFor}
      ${inOrder(ID_IN_STRAND)}) AS one ${inOrder('one.id')});
  END IF;
  RETURN ARRAY(SELECT one.id FROM (
    SELECT o.id FROM $s.tokens o WHERE o.kind = q.kind AND ${isTokenAskedFor} OFFSET 0) AS one ${inOrder('one.id')});
END $$;

CREATE FUNCTION $s.due_to_list(q record) RETURNS text[] LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
DECLARE
  due_ids text[] := ARRAY(SELECT o.id FROM $s.tokens o WHERE o.due_at <= q.now AND o.kind = q.kind
    AND (q.tags IS NULL OR o.tag_list && q.tags)
    AND (q.key_scope IS NULL OR (o.key_scope = q.key_scope AND o.key_value = q.key_value))
    AND ${isInRange('o.id')}
    ORDER BY o.due_at LIMIT ${MOST_SETTLED});
  page_ids text[];
BEGIN
  IF cardinality(due_ids) < ${MOST_SETTLED} THEN RETURN due_ids; END IF;
  page_ids := $s.token_page(q, false);
  RETURN due_ids || ARRAY(SELECT o.id FROM $s.tokens o WHERE o.id = ANY (page_ids) AND o.due_at <= q.now);
END $$;

CREATE FUNCTION $s.list_tokens(requests json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  q record;
  t $s.tokens;
  due record;
  due_ids text[];
  settled json[] := '{}';
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(kind text, statuses text[], tags text[], key_scope text,
    key_value text, older text, newer text, count int, now float8, floor text, ceiling text);
  due_ids := $s.due_to_list(q);
  IF cardinality(due_ids) > 0 THEN PERFORM $s.lock_due(due_ids, q.now); END IF;
  FOR t IN SELECT * FROM $s.tokens WHERE id = ANY (due_ids) ORDER BY due_at, seq
  LOOP
    SELECT * INTO due FROM $s.settle_due(t, q.now, NULL, false);
    IF due.now_settled THEN settled := settled || json_build_array($s.token_json(due.t), due.ready); END IF;
  END LOOP;
  -- One statement: which tokens there are, and how they stand, as of one instant.
  RETURN (SELECT json_build_array(json_build_object('settled', array_to_json(settled),
      'records', coalesce(json_agg($s.token_json(page.o)), '[]'))) FROM (
    SELECT o FROM $s.tokens o WHERE o.id = ANY ((SELECT $s.token_page(q, true))::text[]) ${inOrder('o.id')}) AS page);
END $$;
`
