import { TOKEN_STATUSES } from '../../contract/run-states.ts'
import type { TokenFilter } from '../../contract/storage.ts'
import { parseDuration } from '../../primitives/duration.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireList, requireName, requireOptions, requireWhole, show } from '../../primitives/require.ts'
import type { Cursor, CursorPagePromise } from '../../api/cursor-page.ts'
import { TAG_NAMES, wantedTags } from '../../api/tag-filter.ts'
import { cursorPages } from '../../api/cursor-page.ts'
import { LIST_TOKENS } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import type { Duration, ListTokensParams, Token } from '../../api/token.ts'
import { viewToken } from '../views/token.ts'

/** The filters that all lists have. */
export const LIST_NAMES = {
  status: true,
  period: true,
  from: true,
  to: true,
  limit: true,
  after: true,
  before: true,
} as const
const NAMES: OptionNames<ListTokensParams> = { ...LIST_NAMES, ...TAG_NAMES, idempotencyKey: true }
const DEFAULT_LIMIT = 25
const MOST_A_PAGE = 100

/** Tokens, newest first; see docs/waitpoints.md. */
export function listTokens(kernel: Kernel, params: ListTokensParams): CursorPagePromise<Token> {
  const { host, publisher, credentials } = kernel
  return cursorPages(
    async ({ after, before }) => {
      const page = await kernel.read(() => {
        const now = host.now()
        const limit = pageLimit(params.limit)
        return kernel.asked(LIST_TOKENS, {
          filter: tokenFilter(params, now),
          page: { limit, after, before },
          now,
        })
      })
      for (const record of page.settled) publisher.token(record)
      return { ...page, data: page.records.map((record) => viewToken(record, credentials)) }
    },
    () => checkedList(params, 'wait.listTokens', NAMES),
  )
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
 * The filters of a list, if they can be used: one that is misspelt would be ignored.
 *
 * @throws TypeError for what is no filter, and for a cursor that is none.
 */
export function checkedList<Params extends Cursor & { readonly limit?: number }>(
  params: Params,
  what: string,
  names: OptionNames<Params>,
): Params {
  requireOptions(params, `the filters of ${what}`, names)
  const { after, before } = params
  if (after !== undefined) requireName(after, 'after')
  if (before !== undefined) requireName(before, 'before')
  return params
}

/**
 * The statuses asked for.
 *
 * @throws RangeError for what is no status.
 */
export function statusesOf<Status extends string>(
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

/**
 * One or several, as several; none and an empty list alike mean no filter.
 *
 * @throws TypeError for what is neither a string nor a list of strings.
 */
export function listOf<T extends string>(
  one: T | readonly T[] | undefined,
  what: string,
): readonly T[] | undefined {
  const list = one === undefined ? [] : typeof one === 'string' ? [one] : one
  requireList(list, what)
  for (const item of list) requireName(item, what)
  return list.length === 0 ? undefined : list
}

/** The size of a page, checked. */
export function pageLimit(limit: number = DEFAULT_LIMIT): number {
  requireWhole(limit, 'limit', { from: 1, to: MOST_A_PAGE })
  return limit
}

/** Bounds on the creation: with both, the later of `period` and `from` counts. */
export function createdBounds(
  {
    period,
    from,
    to,
  }: { readonly period?: Duration; readonly from?: Date | number; readonly to?: Date | number },
  now: number,
): { readonly from: number | undefined; readonly to: number | undefined } {
  const starts = [
    ...(period === undefined ? [] : [now - periodMs(period)]),
    ...(from === undefined ? [] : [instantOf(from, 'from')]),
  ]
  return {
    from: starts.length === 0 ? undefined : Math.max(...starts),
    to: to === undefined ? undefined : instantOf(to, 'to'),
  }
}

function periodMs(period: Duration): number {
  const ms = parseDuration(period, 'period')
  if (ms > 0) return ms
  throw new RangeError(`Cannot use period ${JSON.stringify(period)}: it must be longer than nothing`)
}

function instantOf(instant: Date | number, name: string): number {
  const at = instant instanceof Date ? instant.getTime() : instant
  if (Number.isFinite(at)) return at
  throw new RangeError(`Cannot read ${name} ${String(instant)}: use a Date or epoch milliseconds`)
}
