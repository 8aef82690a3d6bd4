import { textList } from '../../sql-rows.ts'

/**
 * How the server plans the statements of a function that most calls need: once for each session, and along an index, whatever
 * it believes of how many rows there are. A plan of its own for each call takes longer than the call.
 */
export const BY_INDEX = 'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off'

/**
 * Within such a function: along an index that has a condition of the statement. In a table that the server believes to be empty any
 * index seems as good, read from its beginning.
 */
export const BY_CONDITION = 'SET enable_indexscan = off SET enable_indexonlyscan = off'

/**
 * Within such a function: along the index of what the statement orders by, with a range of one value, because a single value has no order. Such a scan
 * marks entries of rows that are gone, and later ones pass over them. A bitmap scan reads them all until they are vacuumed, which in a large table comes late.
 */
export const ALONG_INDEX = 'SET enable_bitmapscan = off SET enable_sort = off'

/** Many rows, each by its id: whatever the server believes of how many there are. */
export const ONE_BY_ONE: string = `${BY_CONDITION} SET enable_hashjoin = off SET enable_mergejoin = off`

/** As a list is planned: along an index, and no further than needed. Compiling it takes longer than the list. */
export const IN_ORDER = `SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off`

/**
 * Beside the id of a run: it is the attempt of this epoch and owner, in one of these states. Written so that no other index
 * than that of the ids will do: a server that has counted an idle schema believes that its owners and states are rare.
 */
export const isOfAttempt = (
  row: string,
  [epoch, owner]: readonly [epoch: string, owner: string],
  ...statuses: readonly string[]
): string =>
  `(${row}.epoch, ${row}.owner) IS NOT DISTINCT FROM (${epoch}, ${owner}) AND (${row}.status || '') IN (${textList(statuses)})`

/** Locks a run to write as its attempt, and finds it only if it is of this attempt. */
export const holdAttempt = (run: string, attempt: readonly [epoch: string, owner: string]): string =>
  `PERFORM 1 FROM $s.runs WHERE id = ${run} AND ${isOfAttempt('runs', attempt, 'EXECUTING', 'WAITING')} FOR SHARE`

/** Beside the id of a run: it stands in line. */
export const IS_IN_LINE = "(line || '') IS NOT NULL"

/** Beside the token of a wait: it is ready. */
export const IS_READY = 'coalesce(ready, 0) = 1'

/** Beside the id of a token: it is due. */
export const IS_DUE = `coalesce(due_at, 'Infinity') <= at`

/** How long a tick or a claim waits for a lock of another transaction: less than a server takes for a deadlock. */
export const LOCK_PATIENCE_MS = 250

/** The requests of a function in order, each with its place among them: `ordinality`. */
export const requestsInOrder = (members: string): string =>
  `ROWS FROM (json_to_recordset(requests) AS (${members})) WITH ORDINALITY AS q`

/**
 * A kind of request as a type of the schema. A function reads one of it from JSON in an expression, which takes less than a
 * statement. The type is made anew with the functions.
 */
export const requestType = (type: string, members: string): string =>
  `CREATE TYPE $s.${type} AS (${members});\n`

/** The request of a function that has only one. */
export const onlyRequest = (type: string): string => `json_populate_record(NULL::$s.${type}, requests->0)`

/** A query for all requests of a function, in order. */
export const allRequests = (type: string): string =>
  `SELECT * FROM json_populate_recordset(NULL::$s.${type}, requests)`

/** The runs that wait for a token, in an expression: to call `waiters_of` costs half as much again. */
export const runsWaitingFor = (token: string): string =>
  `ARRAY(SELECT w.run_id FROM $s.waits w WHERE w.token_id = ${token} AND w.ready = 0)`
