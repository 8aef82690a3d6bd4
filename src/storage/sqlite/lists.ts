import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Page, PageRequest, RunFilter, TokenFilter, TokenPage } from '../../contract/storage.ts'
import { RUN_STATUSES, TOKEN_STATUSES } from '../../contract/run-states.ts'
import { RUN_COLUMNS, runOfValues } from '../../generated/run-record.ts'
import { tokenOfRow } from '../../generated/token-record.ts'
import { type IdRange, idRange } from '../made-id.ts'
import {
  allRecords,
  beginRecords,
  type Conditions,
  conditionsOn,
  type IdPage,
  readSqlitePage,
  type Strand,
} from './pages.ts'
import type { Perform, SqliteSession } from './session.ts'
import { listOfTexts } from './texts.ts'
import { settleIfDue } from './token-rows.ts'

export const IN_LIST = 'IN (SELECT value FROM json_each(?))'
export const HAS_TAG: string = `EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.value ${IN_LIST})`
/** From task to task in the index, however many records each has. */
const EVERY_TASK = `WITH RECURSIVE tasks (task_id) AS (
    SELECT min(task_id) FROM runs
    UNION ALL
    SELECT (SELECT min(task_id) FROM runs WHERE task_id > tasks.task_id) FROM tasks WHERE tasks.task_id IS NOT NULL
  ) SELECT task_id FROM tasks WHERE task_id IS NOT NULL`

export async function listSqliteRuns(
  perform: Perform,
  filter: RunFilter,
  page: PageRequest,
): Promise<Page<RunRecord>> {
  const { status } = filter
  const read = ({ database }: SqliteSession, id: string): RunRecord | undefined => {
    const values = database.values(`SELECT ${RUN_COLUMNS} FROM runs WHERE id = ?`, id)
    return values && inStatus(runOfValues(values), status)
  }
  const { cursors, ...begun } = await perform((session) => {
    const { ids, ...neighbours } = pageOfRuns(session, filter, page)
    return { cursors: neighbours, ...beginRecords(session, ids, read) }
  }, 'read')
  return { records: await allRecords(perform, begun, read), ...cursors }
}

/** It was in it when the page was looked up. */
function inStatus<Listed extends { readonly status: string }>(
  record: Listed,
  asked: readonly Listed['status'][] | undefined,
): Listed | undefined {
  return asked?.includes(record.status) === false ? undefined : record
}

function pageOfRuns(session: SqliteSession, filter: RunFilter, page: PageRequest): IdPage {
  const { status, taskIds, notTaskIds, tags, from, to, isRoot } = filter
  const where: Conditions = { texts: [], parameters: [] }
  addList(where, `status ${IN_LIST}`, status)
  addList(where, `task_id ${IN_LIST}`, taskIds)
  addList(where, `task_id NOT ${IN_LIST}`, notTaskIds)
  addList(where, HAS_TAG, tags)
  if (isRoot === true) where.texts.push('parent_id IS NULL')
  return readSqlitePage(session, {
    strands: runStrands(session, filter),
    where,
    range: idRange('runs', { from, to }),
    page,
  })
}

export async function listSqliteTokens(
  perform: Perform,
  filter: TokenFilter,
  page: PageRequest & { readonly now: number },
): Promise<TokenPage> {
  const read = ({ database }: SqliteSession, id: string): TokenRecord | undefined => {
    const row = database.get('SELECT * FROM tokens WHERE id = ?', id)
    return row && inStatus(tokenOfRow(row), filter.status)
  }
  const { cursors, ...begun } = await perform((session) => {
    const { ids, ...others } = pageOfTokens(session, filter, page)
    return { cursors: others, ...beginRecords(session, ids, read) }
  })
  return { records: await allRecords(perform, begun, read), ...cursors }
}

function pageOfTokens(
  session: SqliteSession,
  filter: TokenFilter,
  { now, ...page }: PageRequest & { readonly now: number },
): IdPage & Pick<TokenPage, 'settled'> {
  const { kind, status, tags, key, from, to } = filter
  // A partial index is only used for what is written out.
  const where: Conditions =
    kind === 'MANUAL'
      ? { texts: [`kind = 'MANUAL'`], parameters: [] }
      : { texts: ['kind = ?'], parameters: [kind] }
  addList(where, HAS_TAG, tags)
  if (key !== undefined) {
    where.texts.push('key_scope = ? AND key_value = ?')
    where.parameters.push(key.scope, key.value)
  }
  const range = idRange('tokens', { from, to })
  const settled = settleMatching(session, { where, range }, now)
  addList(where, `status ${IN_LIST}`, status)
  const strands = tokenStrands(session, filter)
  return { ...readSqlitePage(session, { strands, where, range, page }), settled }
}

/** By root, or else by tag, or else by task and status; other conditions are checked on the way. */
export function runStrands({ database }: SqliteSession, filter: RunFilter): readonly Strand[] {
  const { root, isRoot, tags, status, taskIds, notTaskIds } = filter
  if (root !== undefined) {
    const text = 'root_id = ? AND parent_id IS NOT NULL'
    return strandsOf([root], { from: 'runs INDEXED BY runs_by_root', id: 'id', text })
  }
  if (tags !== undefined) {
    const from = 'run_tags CROSS JOIN runs ON runs.id = run_tags.run'
    return strandsOf(tags, { from, id: 'run_tags.run', text: 'run_tags.tag = ?' })
  }
  if (status === undefined && taskIds === undefined && notTaskIds === undefined) {
    return [{ from: isRoot === true ? 'runs INDEXED BY runs_without_parent' : 'runs', id: 'id' }]
  }
  const wanted = taskIds ?? database.all(EVERY_TASK).map((row) => row['task_id'] as string)
  const tasks = new Set(wanted.filter((taskId) => notTaskIds?.includes(taskId) !== true))
  const statuses = new Set(status ?? RUN_STATUSES)
  const strand = { from: 'runs INDEXED BY runs_by_task', id: 'id', text: 'task_id = ? AND status = ?' }
  return [...tasks].flatMap((taskId) => [...statuses].map((one) => ({ ...strand, values: [taskId, one] })))
}

/** Tokens of runs are not listed and have an index by id and by key only. */
export function tokenStrands(session: SqliteSession, filter: TokenFilter): readonly Strand[] {
  const { kind, key, tags, status = TOKEN_STATUSES } = filter
  if (key !== undefined) {
    const isListed = kind === 'MANUAL' && !isOwnKey(session, key)
    const strand = { from: `tokens INDEXED BY ${isListed ? 'tokens_of_key' : 'tokens_by_key'}`, id: 'id' }
    return [isListed ? { ...strand, text: 'key_scope IS NOT run_id' } : strand]
  }
  if (tags !== undefined) {
    const from = 'token_tags CROSS JOIN tokens ON tokens.id = token_tags.token'
    return strandsOf(tags, { from, id: 'token_tags.token', text: 'token_tags.tag = ?' })
  }
  if (kind !== 'MANUAL') return [{ from: 'tokens', id: 'id' }]
  return strandsOf(status, { from: 'tokens INDEXED BY tokens_by_status', id: 'id', text: 'status = ?' })
}

/** Whether a key is of the run that its scope names: of these there are few tokens, and they are in no order. */
function isOwnKey({ database }: SqliteSession, { scope, value }: NonNullable<TokenFilter['key']>): boolean {
  const isOwn = database.value(
    `SELECT key_scope IS run_id AS value FROM tokens WHERE key_scope = ? AND key_value = ?
     ORDER BY seq DESC LIMIT 1`,
    scope,
    value,
  )
  return isOwn === 1
}

function strandsOf(values: readonly string[], strand: Strand): readonly Strand[] {
  return [...new Set(values)].map((value) => ({ ...strand, values: [value] }))
}

/** Records past their deadline are settled before a list shows them, or left out of it. */
function settleMatching(
  session: SqliteSession,
  { where, range }: { readonly where: Conditions; readonly range: IdRange },
  now: number,
): readonly TokenRecord[] {
  const within = conditionsOn(range, 'id')
  const texts = [...where.texts, ...within.texts]
  const rows = session.database.all(
    `SELECT * FROM tokens INDEXED BY tokens_due WHERE due_at <= ? AND ${texts.join(' AND ')} ORDER BY due_at, seq`,
    now,
    ...where.parameters,
    ...within.parameters,
  )
  return rows.flatMap((row) => settleIfDue(session, tokenOfRow(row), { now })?.record ?? [])
}

export function addList(
  { texts, parameters }: Conditions,
  condition: string,
  values: readonly string[] | undefined,
): void {
  if (values === undefined) return
  texts.push(condition)
  // Tags of a record are compared in its own list of them, where nothing is escaped.
  parameters.push(condition === HAS_TAG ? JSON.stringify(values) : listOfTexts(values))
}
