import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { RUN_STATUSES, TOKEN_STATUSES } from '../../contract/run-states.ts'
import type { TokenFilter } from '../../contract/storage.ts'
import { requireName, requireWhole, show } from '../../primitives/require.ts'
import type { Cursor, LoadedPage } from '../../api/cursor-page.ts'
import { wantedTags } from '../../api/tag-filter.ts'
import { readableValues, type ReadValues } from '../../api/values.ts'
import { LIST_RUNS, LIST_TOKENS } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import type { ListRunsParams, Run } from '../../api/run.ts'
import type { ListTokensParams, Token, TokenLinks } from '../../api/token.ts'
import { sizeOfRun, viewRun } from '../views/run.ts'
import { viewToken } from '../views/token.ts'
import { createdBounds } from './created-bounds.ts'
import { listOf } from './list-of.ts'

const DEFAULT_LIMIT = 25
const MOST_A_PAGE = 100

export interface RunsListed {
  readonly params: ListRunsParams
  readonly values: ReadValues
  /** Payloads and outputs are not shown. */
  readonly isBare?: boolean
}

/** A page of `runs.list`. */
export async function listedRuns(
  kernel: Kernel,
  { params, values, isBare = false }: RunsListed,
  { after, before }: Cursor,
): Promise<LoadedPage<Run>> {
  const filter = {
    status: statusesOf(params.status, RUN_STATUSES),
    taskIds: listOf(params.taskIdentifier, 'taskIdentifier'),
    tags: listOf(wantedTags(params), 'tags'),
    root: params.root === undefined ? undefined : requireName(params.root, 'root'),
    ...createdBounds(params, kernel.host.now()),
  }
  const request = { filter, page: { limit: pageLimit(params.limit), after, before, mayLag: true } }
  const page = await kernel.asked(LIST_RUNS, request)
  return {
    ...page,
    data: await viewed(kernel, isBare ? page.records.map(withoutValues) : page.records, {
      sizeOf: sizeOfRun,
      view: (record) => viewRun(record, values),
    }),
  }
}

/** A page of `wait.listTokens`. */
export async function listedTokens(
  kernel: Kernel,
  params: ListTokensParams,
  { after, before }: Cursor,
): Promise<LoadedPage<Token & TokenLinks>> {
  const { host, publisher, credentials } = kernel
  const values = readableValues(kernel.values)
  const now = host.now()
  const limit = pageLimit(params.limit)
  const filter = tokenFilter(params, now)
  const page = await kernel.asked(LIST_TOKENS, { filter, page: { limit, after, before }, now })
  for (const record of page.settled) publisher.token(record)
  return {
    ...page,
    data: await viewed(kernel, page.records, {
      sizeOf: sizeOfQuestion,
      view: (record) => viewToken(record, credentials, values),
    }),
  }
}

interface Viewing<Stored, View> {
  readonly sizeOf: (record: Stored) => number
  readonly view: (record: Stored) => View
}

/** The values of records may be large: each is read when the event loop is due no turn. */
async function viewed<Stored, View>(
  { breath, portions }: Kernel,
  records: readonly Stored[],
  { sizeOf, view }: Viewing<Stored, View>,
): Promise<View[]> {
  const views: View[] = []
  for (const record of records) {
    const turn = portions.take(sizeOf(record)) ?? breath.next()
    if (turn !== undefined) await turn
    views.push(view(record))
  }
  return views
}

function withoutValues({ payloadJson: _payload, outputJson: _output, ...record }: RunRecord): RunRecord {
  return record
}

function sizeOfQuestion({ questionJson = '' }: TokenRecord): number {
  return questionJson.length
}

function tokenFilter(params: ListTokensParams, now: number): TokenFilter {
  const { idempotencyKey } = params
  return {
    kind: 'MANUAL',
    status: statusesOf(params.status, TOKEN_STATUSES),
    tags: listOf(wantedTags(params), 'tags'),
    key:
      idempotencyKey === undefined
        ? undefined
        : { scope: 'tokens', value: requireName(idempotencyKey, 'idempotencyKey') },
    ...createdBounds(params, now),
  }
}

/**
 * The statuses asked for.
 *
 * @throws RangeError for what is no status.
 */
function statusesOf<Status extends string>(
  asked: Status | readonly Status[] | undefined,
  known: readonly Status[],
): readonly Status[] | undefined {
  const statuses = listOf(asked, 'status')
  for (const status of statuses ?? []) {
    if (!known.includes(status))
      throw new RangeError(`Cannot list by status ${show(status)}: use ${known.join(', ')}`)
  }
  return statuses
}

/** The size of a page, checked. */
function pageLimit(limit: number = DEFAULT_LIMIT): number {
  requireWhole(limit, 'limit', { from: 1, to: MOST_A_PAGE })
  return limit
}
