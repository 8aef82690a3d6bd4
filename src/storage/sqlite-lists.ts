import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { Page, PageRequest, RunFilter, TokenFilter, TokenPage } from '../contract/storage.ts'
import { type Row, RUN_COLUMNS, runOfValues, tokenOfRow } from './sql-rows.ts'
import type { SqlValue } from './sqlite-handle.ts'
import type { SqliteSession } from './sqlite-session.ts'
import { settleIfDue } from './sqlite-token-rows.ts'

/** Conditions and the parameters they take, in order. */
interface Conditions {
  readonly texts: string[]
  readonly parameters: SqlValue[]
}

interface ListQuery {
  readonly table: 'runs' | 'tokens'
  readonly where: Conditions
  readonly page: PageRequest
}

const IN_LIST = 'IN (SELECT value FROM json_each(?))'

const RUN_NAMES = RUN_COLUMNS.split(', ')

export function listRuns({ database }: SqliteSession, filter: RunFilter, page: PageRequest): Page<RunRecord> {
  const { status, taskIds, notTaskIds, tags, queues, from, to } = filter
  const where: Conditions = { texts: [], parameters: [] }
  addList(where, `status ${IN_LIST}`, status)
  addList(where, `task_id ${IN_LIST}`, taskIds)
  addList(where, `task_id NOT ${IN_LIST}`, notTaskIds)
  addList(where, `queue ${IN_LIST}`, queues)
  addList(where, `EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.value ${IN_LIST})`, tags)
  addBounds(where, { from, to })
  const { rows, ...cursors } = readPage(database, { table: 'runs', where, page })
  return { records: rows.map(runOfRow), ...cursors }
}

export function listTokens(
  session: SqliteSession,
  filter: TokenFilter,
  { now, ...page }: PageRequest & { readonly now: number },
): TokenPage {
  const { kind, status, tags, key, from, to } = filter
  const where: Conditions = { texts: ['kind = ?'], parameters: [kind] }
  addList(where, `id IN (SELECT token FROM token_tags WHERE tag ${IN_LIST})`, tags)
  if (key !== undefined) {
    where.texts.push('key_scope = ? AND key_value = ?')
    where.parameters.push(key.scope, key.value)
  }
  addBounds(where, { from, to })
  const settled = settleMatching(session, where, now)
  addList(where, `status ${IN_LIST}`, status)
  const { rows, ...cursors } = readPage(session.database, { table: 'tokens', where, page })
  return { records: rows.map(tokenOfRow), ...cursors, settled }
}

/** What is past its deadline is settled before anybody sees it, or does not see it any more. */
function settleMatching(
  session: SqliteSession,
  { texts, parameters }: Conditions,
  now: number,
): readonly TokenRecord[] {
  const rows = session.database.all(
    `SELECT * FROM tokens WHERE due_at <= ? AND ${texts.join(' AND ')} ORDER BY due_at, seq`,
    now,
    ...parameters,
  )
  return rows.flatMap((row) => settleIfDue(session, tokenOfRow(row), { now })?.record ?? [])
}

function addList(
  { texts, parameters }: Conditions,
  condition: string,
  values: readonly string[] | undefined,
): void {
  if (values === undefined) return
  texts.push(condition)
  parameters.push(JSON.stringify(values))
}

function addBounds(
  { texts, parameters }: Conditions,
  { from, to }: { readonly from: number | undefined; readonly to: number | undefined },
): void {
  if (from !== undefined && from > -Infinity) {
    texts.push('created_at >= ?')
    parameters.push(from)
  }
  if (to !== undefined && to < Infinity) {
    texts.push('created_at <= ?')
    parameters.push(to)
  }
}

/** One page, newest first. */
function readPage(
  database: SqliteSession['database'],
  query: ListQuery,
): Omit<Page<Row>, 'records'> & { rows: Row[] } {
  const { table, where, page } = query
  const { limit, after, before } = page
  const read = (side: '<' | '>', id: string | undefined, count: number): Row[] => {
    const texts = id === undefined ? where.texts : [...where.texts, `id ${side} ?`]
    const condition = texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`
    const order = side === '<' ? 'DESC' : 'ASC'
    const parameters = id === undefined ? where.parameters : [...where.parameters, id]
    return [
      ...database.all(
        `SELECT * FROM ${table} ${condition} ORDER BY id ${order} LIMIT ?`,
        ...parameters,
        count,
      ),
    ]
  }
  if (before === undefined) {
    const found = read('<', after, limit + 1)
    const rows = found.slice(0, limit)
    const first = rows[0]
    const hasNewer = after !== undefined && first !== undefined && read('>', idOf(first), 1).length > 0
    return pageOf(rows, { hasOlder: found.length > limit, hasNewer })
  }
  const found = read('>', before, limit + 1)
  const rows = found.slice(0, limit).reverse()
  const last = rows.at(-1)
  const hasOlder = last !== undefined && read('<', idOf(last), 1).length > 0
  return pageOf(rows, { hasOlder, hasNewer: found.length > limit })
}

function pageOf(
  rows: Row[],
  { hasOlder, hasNewer }: { readonly hasOlder: boolean; readonly hasNewer: boolean },
): Omit<Page<Row>, 'records'> & { rows: Row[] } {
  const [first] = rows
  const last = rows.at(-1)
  return {
    rows,
    ...(hasOlder && last && { next: idOf(last) }),
    ...(hasNewer && first && { previous: idOf(first) }),
  }
}

function runOfRow(row: Row): RunRecord {
  return runOfValues(RUN_NAMES.map((name) => row[name] ?? null))
}

function idOf(row: Row): string {
  return row['id'] as string
}
