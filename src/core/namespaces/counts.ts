import type {
  Page,
  RunCountFilter,
  StatusCount,
  StatusCounts,
  TokenCountFilter,
} from '../../contract/storage.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { RUN_STATUSES, TOKEN_STATUSES } from '../../contract/run-states.ts'
import { type OptionNames, requireName, requireOptions, requireWhole } from '../../primitives/require.ts'
import type { CountRunsParams, CountTokensParams, RunCounts, TokenCounts } from '../../api/counts.ts'
import { TAG_NAMES, wantedTags } from '../../api/tag-filter.ts'
import type { RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { createdBounds } from './created-bounds.ts'
import { listOf } from './list-of.ts'

const COMMON_NAMES = { period: true, from: true, to: true, atMost: true } as const
const RUN_NAMES: OptionNames<CountRunsParams> = {
  ...COMMON_NAMES,
  taskIdentifier: true,
  ...TAG_NAMES,
  queue: true,
}
const TOKEN_NAMES: OptionNames<CountTokensParams> = { ...COMMON_NAMES, ...TAG_NAMES }
const DEFAULT_AT_MOST = 10_000
const MOST = 1_000_000
const PAGE_SIZE = 100

interface CountRequest<Filter> {
  readonly filter: Filter
  readonly atMost: number
}

/** A storage that has no counts is asked for lists, a status at a time. */
export const COUNT_RUNS: RepeatableCall<CountRequest<RunCountFilter>, StatusCounts<string>> = {
  ask: ({ counts, runs }, { filter: { queue, ...filter }, atMost }) => {
    if (counts !== undefined) return counts.runs({ ...filter, queue }, atMost)
    const list: List = (status, after) =>
      runs.list({ ...filter, status: [status as RunRecord['status']] }, { limit: PAGE_SIZE, after })
    const isCounted = (record: RunRecord | TokenRecord): boolean =>
      queue === undefined || ('queue' in record && record.queue === queue)
    return listedCounts(filter.status ?? RUN_STATUSES, { list, isCounted, atMost })
  },
}

const COUNT_TOKENS: RepeatableCall<
  CountRequest<TokenCountFilter> & { readonly now: number },
  StatusCounts<string>
> = {
  ask: ({ counts, tokens }, { filter, atMost, now }) => {
    if (counts !== undefined) return counts.tokens(filter, atMost)
    const list: List = (status, after) => {
      const wanted = { ...filter, kind: 'MANUAL', status: [status as TokenRecord['status']] } as const
      return tokens.list(wanted, { limit: PAGE_SIZE, after }, now)
    }
    return listedCounts(TOKEN_STATUSES, { list, isCounted: () => true, atMost })
  },
}

/** `runs.counts`. */
export async function countRuns(kernel: Kernel, params: CountRunsParams): Promise<RunCounts> {
  requireOptions(params, 'the filters of runs.counts', RUN_NAMES)
  const { taskIdentifier, queue } = params
  const counts = await kernel.read(() => {
    const filter = {
      taskIds: listOf(taskIdentifier, 'taskIdentifier'),
      tags: listOf(wantedTags(params), 'tags'),
      queue: queue === undefined ? undefined : requireName(queue, 'queue'),
      ...createdBounds(params, kernel.host.now()),
    }
    return kernel.asked(COUNT_RUNS, { filter, atMost: mostOf(params) })
  })
  return ofAll(RUN_STATUSES, counts)
}

/** `wait.countTokens`. */
export async function countTokens(kernel: Kernel, params: CountTokensParams): Promise<TokenCounts> {
  requireOptions(params, 'the filters of wait.countTokens', TOKEN_NAMES)
  const counts = await kernel.read(() => {
    const now = kernel.host.now()
    const filter = { tags: listOf(wantedTags(params), 'tags'), ...createdBounds(params, now) }
    return kernel.asked(COUNT_TOKENS, { filter, atMost: mostOf(params), now })
  })
  return ofAll(TOKEN_STATUSES, counts)
}

function mostOf({ atMost = DEFAULT_AT_MOST }: CountTokensParams): number {
  requireWhole(atMost, 'atMost', { from: 1, to: MOST })
  return atMost
}

function ofAll<Status extends string>(
  statuses: readonly Status[],
  counts: StatusCounts<string>,
): { readonly [Each in Status]: StatusCount } {
  const none: StatusCount = { count: 0, isMore: false }
  // Each status has its count.
  return Object.fromEntries(statuses.map((status) => [status, counts[status] ?? none])) as {
    readonly [Each in Status]: StatusCount
  }
}

type List = (
  status: string,
  after: string | undefined,
) => Page<RunRecord | TokenRecord> | Promise<Page<RunRecord | TokenRecord>>

async function listedCounts(
  statuses: readonly string[],
  {
    list,
    isCounted,
    atMost,
  }: {
    readonly list: List
    readonly isCounted: (record: RunRecord | TokenRecord) => boolean
    readonly atMost: number
  },
): Promise<StatusCounts<string>> {
  const counts = new Map<string, StatusCount>()
  for (const status of statuses) {
    let [looked, count] = [0, 0]
    let next: string | undefined
    do {
      const page = await list(status, next)
      const records = page.records.slice(0, atMost - looked)
      looked += page.records.length
      count += records.filter(isCounted).length
      next = page.next
    } while (next !== undefined && looked < atMost)
    counts.set(status, { count, isMore: next !== undefined || looked > atMost })
  }
  return Object.fromEntries(counts)
}
