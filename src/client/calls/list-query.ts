import type { Cursor } from '../../api/cursor-page.ts'
import type { Duration } from '../../api/token.ts'
import {
  FROM_FILTER,
  PAGE_AFTER,
  PAGE_BEFORE,
  PAGE_SIZE,
  PERIOD_FILTER,
  STATUS_FILTER,
  TO_FILTER,
} from '../../hosted/list-parameters.ts'
import { requireList, requireName, requireWhole } from '../../primitives/require.ts'
import type { ApiRequest } from '../connection/transport.ts'
import { wireInstant } from '../wire/durations.ts'

/** The filters that all lists share. */
export interface ListFilter {
  readonly status?: string | readonly string[]
  readonly period?: Duration
  readonly from?: Date | number
  readonly to?: Date | number
  readonly limit?: number
  readonly after?: string
  readonly before?: string
}

type Query = NonNullable<ApiRequest['query']>

/** The query parameters of the shared filters. The cursor adds its own. */
export function listQuery({ status, period, from, to, limit }: ListFilter, cursor: Cursor): Query {
  if (limit !== undefined) requireWhole(limit, 'limit', { from: 1, to: 100 })
  return {
    [STATUS_FILTER]: joined(status, 'status'),
    [PERIOD_FILTER]: typeof period === 'number' ? `${period}ms` : period,
    [FROM_FILTER]: wireInstant(from, 'from'),
    [TO_FILTER]: wireInstant(to, 'to'),
    [PAGE_SIZE]: limit === undefined ? undefined : String(limit),
    [PAGE_AFTER]: cursor.after,
    [PAGE_BEFORE]: cursor.before,
  }
}

/**
 * One value or several, joined with commas.
 *
 * @throws TypeError for what is neither a string nor a list of strings; RangeError for one with a comma.
 */
export function joined(one: string | readonly string[] | undefined, what: string): string | undefined {
  const list = one === undefined ? [] : typeof one === 'string' ? [one] : one
  requireList(list, what)
  for (const item of list) {
    if (requireName(item, what).includes(','))
      throw new RangeError(`Cannot list by ${what} "${item}": over HTTP a comma separates values`)
  }
  return list.length === 0 ? undefined : list.join(',')
}
