import type { TokenStatus } from '../contract/records.ts'
import type { TokenFilter } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import type { CursorPagePromise } from './cursor-page.ts'
import { cursorPages } from './cursor-page.ts'
import type { Kernel } from './kernel.ts'
import type { Duration, ListTokensParams, Token } from './token.ts'
import { viewToken } from './token-view.ts'

const STATUSES: readonly TokenStatus[] = ['WAITING', 'COMPLETED', 'TIMED_OUT']
const DEFAULT_LIMIT = 25
const MOST_A_PAGE = 100

/** Tokens, newest first (specification 2.7). */
export function listTokens(kernel: Kernel, params: ListTokensParams): CursorPagePromise<Token> {
  const { host, journal, credentials } = kernel.parts
  return cursorPages(async ({ after, before }) => {
    const page = await kernel.call(() => {
      const now = host.now()
      const limit = pageLimit(params.limit)
      return host.storage.tokens.list(tokenFilter(params, now), { limit, after, before }, now)
    })
    for (const record of page.settled) journal.token(record)
    return { ...page, data: page.records.map((record) => viewToken(record, credentials)) }
  }, params)
}

function tokenFilter(params: ListTokensParams, now: number): TokenFilter {
  const { idempotencyKey } = params
  return {
    kind: 'MANUAL',
    status: listOf(params.status)?.map(readStatus),
    tags: listOf(params.tags),
    key: idempotencyKey === undefined ? undefined : { scope: 'tokens', value: idempotencyKey },
    ...createdBounds(params, now),
  }
}

function readStatus(status: TokenStatus): TokenStatus {
  if (STATUSES.includes(status)) return status
  throw new RangeError(`Cannot list tokens with status "${status}": use ${STATUSES.join(', ')}`)
}

/** One or several, as several; none and an empty list alike mean no filter. */
export function listOf<T extends string>(one: T | readonly T[] | undefined): readonly T[] | undefined {
  const list = one === undefined ? [] : typeof one === 'string' ? [one] : one
  return list.length === 0 ? undefined : list
}

/** The size of a page, checked. */
export function pageLimit(limit: number = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_A_PAGE) return limit
  throw new RangeError(
    `Cannot list ${limit} items a page: limit must be a whole number from 1 to ${MOST_A_PAGE}`,
  )
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
