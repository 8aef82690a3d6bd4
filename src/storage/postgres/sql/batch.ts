import { INSERT_MEMBERS } from './insert.ts'
import { isOfAttempt, ONE_BY_ONE, requestsInOrder } from './plans.ts'
import { TOKEN_COLUMNS } from '../../../generated/token-record.ts'
import { runAsJson, tokenAsJson } from './record.ts'
import {
  END,
  END_MEMBERS,
  MAY_END,
  MAY_PARK,
  MAY_RESUME,
  PARK,
  PARK_MEMBERS,
  RESUME_MEMBERS,
  RESUME_RUN,
} from './run.ts'
import { AWAIT_MEMBERS, isAsking, IS_OPEN, IS_RESUMABLE, RESUME, SETTLE, SETTLE_MEMBERS } from './token.ts'

/** A function that does the usual requests of a turn. */
interface Batch {
  readonly name: string
  /** Parameters before the requests, each with a comma behind it. */
  readonly parameters?: string
  /** More variables, a line each. */
  readonly variables?: string
  /** Does what is usual. Returns a row for each request that it has done, with its `place`. */
  readonly statement: string
  /** The answer to the request of the row `one`. */
  readonly answer: string
  /** Lines for such a row. */
  readonly forEach?: string
  /** Lines for all of them. */
  readonly last?: string
}

/** The function: it returns an answer for each request that it has done, and whether these are all. */
function batchFunction(batch: Batch): string {
  const { name, parameters = '', variables = '', statement, answer, forEach = '', last = '' } = batch
  return `
CREATE FUNCTION $s.${name}(${parameters}requests json, OUT answers json[], OUT is_done boolean) LANGUAGE plpgsql
${ONE_BY_ONE} AS $$
DECLARE
  one record;
  undone int := json_array_length(requests);
${variables}BEGIN
  answers := array_fill(NULL::json, ARRAY[undone]);
  FOR one IN
${statement}
  LOOP
    answers[one.place] := ${answer};
    undone := undone - 1;
${forEach}  END LOOP;
${last}  is_done := undone = 0;
END $$;
`
}

const PARKS: Batch = {
  name: 'park_batch',
  statement: `    UPDATE $s.runs AS r SET ${PARK} FROM ${requestsInOrder(PARK_MEMBERS)} WHERE r.id = q.id AND ${MAY_PARK}
      RETURNING q.ordinality AS place, ${runAsJson('r')} AS run`,
  answer: 'one.run',
}

const RESUMES: Batch = {
  name: 'resume_batch',
  statement: `    UPDATE $s.runs AS e SET ${RESUME_RUN} FROM ${requestsInOrder(RESUME_MEMBERS)} WHERE e.id = q.id AND ${MAY_RESUME}
      RETURNING q.ordinality AS place, e.id, q.is_hinted, ${runAsJson('e')} AS run`,
  answer: '$s.resumed(one.id, one.run, one.is_hinted)',
}

const ENDS: Batch = {
  name: 'end_batch',
  variables: `  run_ids text[] := array_fill(NULL::text, ARRAY[undone]);
`,
  statement: `    WITH first AS MATERIALIZED (SELECT DISTINCT ON (q.id) * FROM ${requestsInOrder(END_MEMBERS)} ORDER BY q.id, q.ordinality),
    ended AS (UPDATE $s.runs AS r SET ${END} FROM first AS q WHERE r.id = q.id AND ${MAY_END}
      RETURNING q.ordinality AS place, r.id, r.streams, ${runAsJson('r')} AS run),
    released AS (DELETE FROM $s.waits AS w USING ended WHERE w.run_id = ended.id)
    SELECT * FROM ended`,
  answer: 'json_build_array(one.run, NULL)',
  forEach: `    IF one.streams IS NOT NULL THEN PERFORM $s.interrupt_streams(one.id); END IF;
    run_ids[one.place] := one.id;
`,
  last: `  FOR one IN
    SELECT DISTINCT asked.id, asked.place FROM unnest(run_ids) WITH ORDINALITY AS asked(id, place)
      JOIN $s.waits AS w ON w.token_id = 'run:' || asked.id AND w.ready = 0
  LOOP
    answers[one.place] := json_build_array(answers[one.place]->0, $s.settle_end(one.id, NULL));
  END LOOP;
`,
}

const TOKENS: Batch = {
  name: 'insert_token_batch',
  statement: `    WITH first AS MATERIALIZED (
      SELECT DISTINCT ON (t.key_scope, coalesce(t.key_value, q.ordinality::text))
        q.ordinality, q.fence_run, q.fence_epoch, q.by_owner, q.again, t.*
      FROM ${requestsInOrder(`${INSERT_MEMBERS}, token json`)}
        CROSS JOIN LATERAL json_populate_record(NULL::$s.tokens, q.token) AS t
      ORDER BY t.key_scope, coalesce(t.key_value, q.ordinality::text), q.ordinality),
    asked AS MATERIALIZED (
      SELECT q.* FROM first AS q
        LEFT JOIN $s.runs AS r ON r.id = q.fence_run AND ${isOfAttempt('r', ['q.fence_epoch', 'q.by_owner'], 'EXECUTING', 'WAITING')}
      WHERE q.again IS NOT TRUE AND q.tag_list IS NULL AND (q.fence_run IS NULL OR r.id IS NOT NULL)
        AND (q.key_scope IS NULL OR q.key_scope = q.fence_run)
        AND NOT EXISTS (SELECT 1 FROM $s.tokens AS o WHERE o.key_scope = q.key_scope AND o.key_value = q.key_value)),
    made AS (INSERT INTO $s.tokens (${TOKEN_COLUMNS}, seq, due_at, ended_at)
      SELECT ${TOKEN_COLUMNS}, nextval('$s.places'), CASE WHEN status = 'WAITING' THEN timeout_at END,
        CASE WHEN status <> 'WAITING' THEN coalesce(completed_at, 0) END FROM asked ORDER BY ordinality)
    SELECT ordinality AS place FROM asked`,
  answer: `'[0]'`,
}

const AWAITS: Batch = {
  name: 'await_batch',
  statement: `    WITH open AS MATERIALIZED (SELECT q.*, ${tokenAsJson('o')} AS token FROM ${requestsInOrder(AWAIT_MEMBERS)}
      JOIN $s.tokens AS o ON o.id = q.token_id AND ${IS_OPEN}
      JOIN $s.runs AS r ON r.id = q.run_id AND ${isOfAttempt('r', ['q.epoch', 'q.by_owner'], 'EXECUTING', 'WAITING')}
      FOR SHARE OF o SKIP LOCKED),
    made AS (INSERT INTO $s.waits (run_id, token_id, owner, ready, place)
      SELECT run_id, token_id, by_owner, 0, place FROM open ON CONFLICT DO NOTHING)
    SELECT ordinality AS place, token FROM open`,
  answer: `json_build_object('outcome', 'registered', 'token', one.token)`,
}

const SETTLES: Batch = {
  name: 'settle_batch',
  parameters: 'locked text[], ',
  variables: `  may_resume boolean := pg_try_advisory_xact_lock_shared($space, 2050);
`,
  statement: `    WITH first AS MATERIALIZED (SELECT DISTINCT ON (q.id) * FROM ${requestsInOrder(SETTLE_MEMBERS)} ORDER BY q.id, q.ordinality),
    won AS (UPDATE $s.tokens AS o SET ${SETTLE} FROM first AS q WHERE o.id = q.id AND q.fence_run IS NULL AND ${isAsking('o')}
        AND (q.id IN (SELECT unnest(locked))) IS TRUE
      RETURNING q.*, ${tokenAsJson('o')} AS token),
    made AS (UPDATE $s.waits AS w SET ready = 1 FROM won AS q WHERE w.token_id = q.id AND w.ready = 0
      RETURNING w.run_id, w.owner AS wait_owner, q.*),
    resumable AS (SELECT r.id, q.ordinality, q.now FROM made AS q JOIN $s.runs AS r ON r.id = q.run_id
      WHERE q.run_id = q.resume_run AND may_resume AND ${IS_RESUMABLE}
      FOR NO KEY UPDATE OF r SKIP LOCKED),
    resumed AS (UPDATE $s.runs AS e SET ${RESUME} FROM resumable AS q WHERE e.id = q.id
      RETURNING q.ordinality, ${runAsJson('e')} AS run)
    SELECT ordinality AS place, json_agg(token) FILTER (WHERE token IS NOT NULL) AS tokens,
      json_agg(wait) FILTER (WHERE wait IS NOT NULL) AS waits, json_agg(run) FILTER (WHERE run IS NOT NULL) AS runs FROM (
      SELECT ordinality, token, NULL::json AS wait, NULL::json AS run FROM won
      UNION ALL SELECT ordinality, NULL, json_build_array(run_id, wait_owner), NULL FROM made
      UNION ALL SELECT ordinality, NULL, NULL, run FROM resumed) AS parts
    GROUP BY ordinality`,
  answer: `json_build_object('token', one.tokens->0, 'won', true, 'settledNow', true, 'ready', one.waits, 'resumed', one.runs->0)`,
}

/**
 * The usual requests of a turn, in one statement for all: to begin and to end one for each takes a fifth of the time of a busy server. What
 * such a statement does not do is left, without an answer, to the function for one request. Rows are locked before, as for that one.
 *
 * A token that was not there when they were locked is not locked: others may begin to wait for it while a statement completes it, and complete it
 * while one registers a wait.
 */
export const BATCH_FUNCTIONS: string = [PARKS, RESUMES, ENDS, TOKENS, AWAITS, SETTLES]
  .map(batchFunction)
  .join('')
