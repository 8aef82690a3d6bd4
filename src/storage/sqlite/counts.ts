import type { RunStatus, TokenStatus } from '../../contract/records.ts'
import type {
  CountStore,
  RunCountFilter,
  StatusCount,
  StatusCounts,
  TokenCountFilter,
} from '../../contract/storage.ts'
import { RUN_STATUSES, TOKEN_STATUSES } from '../../contract/run-states.ts'
import { type IdRange, idRange } from '../made-id.ts'
import { addList, HAS_TAG, IN_LIST, runStrands, tokenStrands } from './lists.ts'
import { type Conditions, conditionsOn, type Strand } from './pages.ts'
import type { Perform, SqliteSession } from './session.ts'
import { listOfTexts } from './texts.ts'

/** What is counted of one table. */
interface CountQuery {
  readonly table: 'runs' | 'tokens'
  /** What the records must fulfil besides their strand. */
  readonly where: Conditions
  readonly range: IdRange
  readonly atMost: number
}

/** Counts of a SQLite storage: along the indexes of lists, and no further than `atMost`. */
export function sqliteCounts(perform: Perform): CountStore {
  return {
    runs: (filter, atMost) => perform((session) => countRuns(session, filter, atMost), 'read'),
    tokens: (filter, atMost) => perform((session) => countTokens(session, filter, atMost), 'read'),
  }
}

function countRuns(session: SqliteSession, filter: RunCountFilter, atMost: number): StatusCounts<RunStatus> {
  const { status = RUN_STATUSES, taskIds, tags, queue, from, to } = filter
  const where = conditionsOf({ tags })
  if (queue !== undefined) {
    where.texts.push('queue = ?')
    where.parameters.push(queue)
  }
  const query: CountQuery = { table: 'runs', where, range: idRange('runs', { from, to }), atMost }
  const among = { texts: [...where.texts], parameters: [...where.parameters] }
  addList(among, `task_id ${IN_LIST}`, taskIds)
  const tagged = countTagged(session, { ...query, where: among }, tags)
  // Each has the values of its task and its status.
  const strands = tagged === undefined ? runStrands(session, { status, taskIds, notTaskIds: [] }) : []
  const ofStatus = (one: RunStatus): StatusCount =>
    tagged === undefined
      ? countStrands(
          session,
          query,
          strands.filter(({ values = [] }) => values[1] === one),
        )
      : { count: tagged.get(one) ?? 0, isMore: false }
  return Object.fromEntries(status.map((one) => [one, ofStatus(one)]))
}

function countTokens(
  session: SqliteSession,
  { status = TOKEN_STATUSES, tags, from, to }: TokenCountFilter,
  atMost: number,
): StatusCounts<TokenStatus> {
  const where = conditionsOf({ tags })
  const query: CountQuery = {
    table: 'tokens',
    where,
    range: idRange('tokens', { from, to }),
    atMost,
  }
  const manual = { ...where, texts: [...where.texts, `kind = 'MANUAL'`] }
  const tagged = countTagged(session, { ...query, where: manual }, tags)
  const strandsOf = (one: TokenStatus): readonly Strand[] =>
    tokenStrands(session, { kind: 'MANUAL', status: [one] }).map((strand) => ({
      ...strand,
      text: `kind = 'MANUAL' AND ${strand.text}`,
    }))
  const ofStatus = (one: TokenStatus): StatusCount =>
    tagged === undefined
      ? countStrands(session, query, strandsOf(one))
      : { count: tagged.get(one) ?? 0, isMore: false }
  return Object.fromEntries(status.map((one) => [one, ofStatus(one)]))
}

function conditionsOf({ tags }: Pick<RunCountFilter, 'tags'>): Conditions {
  const where: Conditions = { texts: [], parameters: [] }
  addList(where, HAS_TAG, tags)
  return where
}

/** All that have the tags, by status; `undefined` if there are more than may be looked at. */
function countTagged(
  { database }: SqliteSession,
  { table, where, range, atMost }: CountQuery,
  tags: readonly string[] | undefined,
): ReadonlyMap<string, number> | undefined {
  if (tags === undefined) return undefined
  const id = table === 'runs' ? 'run' : 'token'
  const bounds = conditionsOn(range, id)
  const isWithin = bounds.texts.map((text) => ` AND ${text}`).join('')
  const tagTable = table === 'runs' ? 'run_tags' : 'token_tags'
  let looked = 0
  for (const tag of new Set(tags)) {
    looked += Number(
      database.value(
        `SELECT count(*) AS value FROM (SELECT 1 FROM ${tagTable} WHERE tag = ?${isWithin} LIMIT ?)`,
        tag,
        ...bounds.parameters,
        atMost + 1 - looked,
      ),
    )
    if (looked > atMost) return undefined
  }
  const rows = database.all(
    `SELECT status, count(*) AS found FROM ${table}
     WHERE id IN (SELECT ${id} FROM ${tagTable} WHERE tag ${IN_LIST}${isWithin}) AND ${where.texts.join(' AND ')}
     GROUP BY status`,
    listOfTexts(tags),
    ...bounds.parameters,
    ...where.parameters,
  )
  return new Map(rows.map((row) => [row['status'] as string, Number(row['found'])]))
}

/** The newest of each strand. Where there is no other condition, the index has all that is asked. */
function countStrands(
  { database }: SqliteSession,
  { where, range, atMost }: CountQuery,
  strands: readonly Strand[],
): StatusCount {
  const isFound = where.texts.length === 0 ? '1' : where.texts.join(' AND ')
  let [looked, count] = [0, 0]
  for (const { from, id, text = 'TRUE', values = [] } of strands) {
    const bounds = conditionsOn(range, id)
    const isWithin = bounds.texts.map((bound) => ` AND ${bound}`).join('')
    const row = database.get(
      `SELECT count(*) AS looked, total(is_found) AS found FROM (
         SELECT ${isFound} AS is_found FROM ${from} WHERE ${text}${isWithin} ORDER BY ${id} DESC LIMIT ?)`,
      ...where.parameters,
      ...values,
      ...bounds.parameters,
      atMost + 1 - looked,
    )
    looked += Number(row?.['looked'])
    count += Number(row?.['found'])
    if (looked > atMost) return { count: Math.min(count, atMost), isMore: true }
  }
  return { count, isMore: false }
}
