import { allRequests, BY_INDEX, holdAttempt, onlyRequest, requestType } from './plans.ts'

/** The members of each insert, but for the record. */
export const INSERT_MEMBERS = `fence_run text, fence_epoch int, by_owner text, now float8, again boolean, key_lock text, instead text`

/** How the insert of one kind of record differs from the other. The row is the variable `r` or `t` of the function. */
interface InsertedKind {
  /** The table and the end of the function's name. */
  readonly table: 'runs' | 'tokens'
  /** The member of a request that holds the record, also the name of its functions: `tag_run`, `run_json`. */
  readonly noun: 'run' | 'token'
  readonly row: 'r' | 't'
  /** More variables, a line each. */
  readonly variables?: string
  /** More members of a request, each after a comma. */
  readonly members?: string
  /** The call that locks what the requests need besides their keys; those in `held` are answered without it. */
  readonly lock: string
  /** Whether a request that is alone takes these locks as well; one with a key does. */
  readonly locksFirst?: string
  /** Lines that answer usual requests of a turn together, and set `answers` of them. */
  readonly inBatch?: string
  /** Lines before the search for the holder of the key. */
  readonly first?: string
  /** Whether the `holder` of the key holds it, however long ago it has expired. */
  readonly holdsOn?: string
  /** Lines between the search for the `holder` of the key and the question whether it is answered. */
  readonly meetHolder?: string
  /** Answers with the `holder` of the key: lines that set it in `answers`. */
  readonly answerHolder: string
  /** Fills the columns that storage keeps for itself. */
  readonly fillRow: string
  /** Lines for a row that was inserted. */
  readonly whenStored?: string
  /** The answer for a row that was inserted. */
  readonly answerNew: string
  /** The answer for the row `holder`, which this request has inserted before. */
  readonly answerAgain: string
}

/**
 * `insert_runs` or `insert_tokens`: for each request the fence, then the key, then the row. All locks are taken before the
 * first request is looked at; a request that is alone takes its own, and is read without a cursor. The row is filled from one that has an id only: then
 * columns that are not sent cost the server nothing. A request that is made again (`again`) finds its own row, which is no holder of its key. So does
 * one whose key is of its own attempt: such a key needs no lock, as the attempt asks for it once at a time.
 */
export function insertFunction(kind: InsertedKind): string {
  const {
    table,
    noun,
    row,
    variables = '',
    members = '',
    lock,
    locksFirst = 'false',
    inBatch = '',
    first = '',
    holdsOn = 'false',
    meetHolder = '',
    answerHolder,
    fillRow,
    whenStored = '',
    answerNew,
    answerAgain,
  } = kind
  const type = `insert_${noun}_request`
  return `
${requestType(type, `${INSERT_MEMBERS}, ${noun} json${members}`)}
CREATE FUNCTION $s.insert_${table}(requests json) RETURNS json LANGUAGE plpgsql
${BY_INDEX} AS $$
DECLARE
  q $s.${type};
  ${row} $s.${table};
  holder $s.${table};
  held bigint[];
${variables}  total int := json_array_length(requests);
  is_alone boolean := total = 1;
  answers json[] := '{}';
  each CURSOR FOR ${allRequests(type)};
BEGIN
  IF NOT is_alone THEN
    held := $s.lock_keys(requests);
    PERFORM $s.${lock};
${inBatch}    OPEN each;
  END IF;
  FOR place IN 1..total LOOP
    IF is_alone THEN q := ${onlyRequest(type)}; ELSE FETCH each INTO q; END IF;
    CONTINUE WHEN answers[place] IS NOT NULL;
    IF is_alone AND (q.key_lock IS NOT NULL OR ${locksFirst}) THEN
      held := $s.lock_keys(requests);
      PERFORM $s.${lock};
    END IF;
    IF held IS NOT NULL THEN
      IF $s.lock_of_key(q.key_lock) = ANY (held) THEN
        answers[place] := '"held"';
        CONTINUE;
      END IF;
    END IF;
    IF q.fence_run IS NOT NULL THEN
      ${holdAttempt('q.fence_run', ['q.fence_epoch', 'q.by_owner'])};
      IF NOT FOUND THEN
        answers[place] := '"stale"';
        CONTINUE;
      END IF;
    END IF;
    ${row} := NULL; ${row}.id := '';
    ${row} := json_populate_record(${row}, q.${noun});
${first}    IF ${row}.key_scope IS NOT NULL THEN
      SELECT * INTO holder FROM $s.${table} WHERE key_scope = ${row}.key_scope AND key_value = ${row}.key_value
        ORDER BY seq DESC LIMIT 1;
${meetHolder}      IF FOUND AND (${holdsOn} OR q.now < coalesce(holder.key_expires_at, 'Infinity'))
        AND holder.id IS DISTINCT FROM q.instead AND NOT (q.again IS TRUE AND holder.id = ${row}.id) THEN
${answerHolder}        CONTINUE;
      END IF;
    END IF;
${fillRow}    INSERT INTO $s.${table} SELECT ${row}.* ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
      IF ${row}.tag_list IS NOT NULL THEN PERFORM $s.tag_${noun}(${row}.id, ${row}.tag_list); END IF;
${whenStored}      answers[place] := ${answerNew};
    ELSIF q.again IS TRUE OR q.fence_run = ${row}.key_scope THEN
      SELECT * INTO holder FROM $s.${table} WHERE id = ${row}.id;
      answers[place] := ${answerAgain};
    ELSE
      answers[place] := '"taken"';
    END IF;
  END LOOP;
  IF NOT is_alone THEN CLOSE each; END IF;
  RETURN array_to_json(answers);
END $$;
`
}
