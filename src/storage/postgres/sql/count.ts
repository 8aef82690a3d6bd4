import { RUN_STATUSES } from '../../../contract/run-states.ts'
import { textList } from '../../sql-rows.ts'
import { ID_IN_STRAND, inOrder, isBeside } from './list.ts'
import { IN_ORDER } from './plans.ts'

const isRunCounted = `(q.task_ids IS NULL OR r.task_id = ANY (q.task_ids))
        AND (q.queue IS NULL OR r.queue = q.queue)
        AND (q.tags IS NULL OR coalesce(r.tag_list && q.tags, false))`

const isTokenCounted = `(q.tags IS NULL OR coalesce(o.tag_list && q.tags, false))`

/** The ids of all records with the tags, as long as they are no more than may be looked at. */
const taggedIds = (tagTable: string, id: string): string =>
  `ARRAY(SELECT DISTINCT one.id FROM (SELECT DISTINCT unnest(q.tags) AS tag) AS wanted CROSS JOIN LATERAL (
      SELECT x.${id} AS id FROM $s.${tagTable} x WHERE x.tag = wanted.tag AND ${isBeside(`x.${id}`)}
      ${inOrder(`x.${id}`)}) AS one LIMIT q.count)`

/** One status: so many were looked at, so many are counted. */
const COUNTED = `count(*)::int, (count(*) FILTER (WHERE one.is_counted))::int INTO looked, found`

const ANSWER = `answer := answer || jsonb_build_object(in_status, json_build_array(least(found, q.count - 1), looked = q.count));`

/**
 * Counts. Each looks at one record more than it may count, so that it knows whether there are more. The request of a call is
 * that of a list, with \`count\` as its limit. Without other conditions an index has the answer, without the rows.
 */
export const COUNT_FUNCTIONS: string = `
CREATE FUNCTION $s.count_runs(requests json) RETURNS json LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
DECLARE
  q record;
  in_status text;
  statuses text[];
  ids text[];
  looked int;
  found int;
  answer jsonb := '{}';
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(statuses text[], task_ids text[], not_task_ids text[],
    tags text[], queue text, older text, newer text, count int, floor text, ceiling text);
  statuses := coalesce(q.statuses, ARRAY[${textList(RUN_STATUSES)}]);
  IF q.tags IS NOT NULL THEN
    ids := ${taggedIds('run_tags', 'run_id')};
    IF cardinality(ids) < q.count THEN
      RETURN json_build_array((SELECT coalesce(json_object_agg(one.status, json_build_array(one.n, false)), '{}') FROM (
        SELECT r.status, count(*) AS n FROM $s.runs r WHERE r.id = ANY (ids) AND r.status = ANY (statuses)
          AND ${isRunCounted} GROUP BY r.status) AS one));
    END IF;
  END IF;
  FOREACH in_status IN ARRAY statuses LOOP
    IF q.tags IS NULL AND q.queue IS NULL AND q.floor IS NULL AND q.ceiling IS NULL THEN
      SELECT ${COUNTED} FROM (
        SELECT true AS is_counted FROM $s.runs r WHERE r.status = in_status
          AND (q.task_ids IS NULL OR r.task_id = ANY (q.task_ids)) LIMIT q.count) AS one;
    ELSE
      q.statuses := ARRAY[in_status];
      SELECT ${COUNTED} FROM (
        SELECT row.is_counted FROM $s.run_strands(q) AS strand CROSS JOIN LATERAL (
          SELECT ${isRunCounted} AS is_counted FROM $s.runs r
          WHERE r.status = strand.in_status AND r.task_id = strand.of_task AND ${isBeside(ID_IN_STRAND)}
          ${inOrder(ID_IN_STRAND)}) AS row LIMIT q.count) AS one;
    END IF;
    ${ANSWER}
  END LOOP;
  RETURN json_build_array(answer);
END $$;

CREATE FUNCTION $s.count_tokens(requests json) RETURNS json LANGUAGE plpgsql STABLE
${IN_ORDER} AS $$
DECLARE
  q record;
  in_status text;
  statuses text[];
  ids text[];
  looked int;
  found int;
  answer jsonb := '{}';
BEGIN
  SELECT * INTO q FROM json_to_recordset(requests) AS x(statuses text[], tags text[],
    older text, newer text, count int, floor text, ceiling text);
  statuses := coalesce(q.statuses, ARRAY['WAITING', 'COMPLETED', 'TIMED_OUT']);
  IF q.tags IS NOT NULL THEN
    ids := ${taggedIds('token_tags', 'token_id')};
    IF cardinality(ids) < q.count THEN
      RETURN json_build_array((SELECT coalesce(json_object_agg(one.status, json_build_array(one.n, false)), '{}') FROM (
        SELECT o.status, count(*) AS n FROM $s.tokens o WHERE o.id = ANY (ids) AND o.kind = 'MANUAL'
          AND o.status = ANY (statuses) AND ${isTokenCounted} GROUP BY o.status) AS one));
    END IF;
  END IF;
  FOREACH in_status IN ARRAY statuses LOOP
    IF q.tags IS NULL AND q.floor IS NULL AND q.ceiling IS NULL THEN
      SELECT ${COUNTED} FROM (
        SELECT true AS is_counted FROM $s.tokens o WHERE o.kind = 'MANUAL' AND o.status = in_status
        LIMIT q.count) AS one;
    ELSE
      SELECT ${COUNTED} FROM (
        SELECT ${isTokenCounted} AS is_counted FROM $s.tokens o
        WHERE o.kind = 'MANUAL' AND o.status = in_status AND ${isBeside(ID_IN_STRAND)}
        ${inOrder(ID_IN_STRAND)}) AS one;
    END IF;
    ${ANSWER}
  END LOOP;
  RETURN json_build_array(answer);
END $$;
`
