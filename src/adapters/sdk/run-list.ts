import { type Cursor, type CursorPagePromise, cursorPages, type LoadedPage } from '../../api/cursor-page.ts'
import type { ListRunsParams, Run } from '../../api/run.ts'
import type { RunStatus } from '../../contract/records.ts'
import { OTHER_STATUSES } from '../../hosted/statuses.ts'
import { requireFlag } from '../../primitives/require.ts'
import { hostedOnly } from './hosted-only.ts'
import { type HostedRunStatus, type ListedHostedRun, listed } from './hosted-run.ts'
import { type Pages, type CursoredPage, shownPages } from './page.ts'
import { keptBatch } from './triggering.ts'
import type { Untyped } from './untyped.ts'
import { storedRuns as runs } from './stored.ts'

/** Filters that only the hosted service has, and what to do instead. */
const REFUSED = {
  version: 'filter by task or by tag',
  bulkAction: 'there are no bulk actions here',
  schedule: 'filter by the task of the schedule',
  queue: 'filter by the tasks of the queue',
  machine: 'there is one machine here',
  region: 'there is one region here',
  env: 'there is one environment here',
} as const
const REFUSED_NAMES = Object.keys(REFUSED) as (keyof typeof REFUSED)[]

const DEFAULT_LIMIT = 25

/** Filters of `runs.list`. */
export type HostedListRunsParams = Omit<ListRunsParams, 'status'> & {
  readonly status?: HostedRunStatus | readonly HostedRunStatus[]
  /** A batch that was triggered in this process, among the last thousand. */
  readonly batch?: string
  /** No run is a test here. */
  readonly isTest?: boolean
} & {
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly [Name in keyof typeof REFUSED]?: Untyped
}

/** A page that can be iterated: its items, then those of all further pages. */
export type RunPage = CursoredPage<ListedHostedRun, Run>

/** `runs.list`. */
export function listHostedRuns(params: HostedListRunsParams = {}): Pages<ListedHostedRun, RunPage> {
  return shownPages(enginePages(params), listed)
}

function enginePages(params: HostedListRunsParams): CursorPagePromise<Run> {
  const { batch, isTest, ...filters } = params
  requireFlag(isTest, 'isTest')
  const asked = engineParams(filters, isTest === true)
  const refused = REFUSED_NAMES.find((name) => params[name] !== undefined)
  if (refused !== undefined)
    return pagesOf(() => Promise.reject(hostedOnly(`runs.list with ${refused}`, REFUSED[refused])), asked)
  return batch === undefined ? runs.list(asked) : pagesOf(() => runsIn(batch, asked), asked)
}

/** Without the statuses that no run has, which may be all that were asked for. */
function engineParams(params: HostedListRunsParams, isNone: boolean): ListRunsParams {
  const asked = [params.status ?? []].flat()
  const absent: readonly string[] = OTHER_STATUSES
  const status = asked.filter((one): one is RunStatus => !absent.includes(one))
  const { period: _period, from: _from, ...others } = params
  // No run was created before this instant.
  return isNone || (asked.length > 0 && status.length === 0)
    ? { ...others, status, to: 0 }
    : { ...params, status }
}

/** The runs of a batch, newest first, read when the first page is. */
async function runsIn(batch: string, params: ListRunsParams): Promise<readonly Run[]> {
  const { runs: ids } = keptBatch(batch, `runs.list({ batch: "${batch}" })`)
  const found: Run[] = []
  const members = new Set(ids)
  const [oldest = ''] = ids.toSorted()
  const { after: _after, before: _before, ...filters } = params
  for await (const run of runs.list(filters)) {
    if (run.id < oldest) break
    if (members.has(run.id)) found.push(run)
  }
  return found
}

function pagesOf(read: () => Promise<readonly Run[]>, params: ListRunsParams): CursorPagePromise<Run> {
  const { after, before, limit = DEFAULT_LIMIT } = params
  let all: Promise<readonly Run[]> | undefined
  return cursorPages(
    async (cursor) => pageAt(await (all ??= read()), cursor, limit),
    () => ({ after, before }),
  )
}

function pageAt(all: readonly Run[], { after, before }: Cursor, limit: number): LoadedPage<Run> {
  const rest = all.filter(
    ({ id }) => (after === undefined || id < after) && (before === undefined || id > before),
  )
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit)
  const [first, last] = [data[0], data.at(-1)]
  return {
    data,
    next: last === all.at(-1) ? undefined : last?.id,
    previous: first === all[0] ? undefined : first?.id,
  }
}
