import type { RunStatus, TokenStatus } from '../contract/records.ts'
import type { StatusCount } from '../contract/storage.ts'
import type { TagFilter } from './tag-filter.ts'

/** Filters of `runs.counts`. */
export interface CountRunsParams extends TagFilter {
  /**
   * Runs of any of these tasks.
   *
   * @default all
   */
  readonly taskIdentifier?: string | readonly string[]
  /**
   * Runs of this queue.
   *
   * @default all
   */
  readonly queue?: string
  /**
   * Created within this time until now: a duration such as `1d`, or milliseconds.
   *
   * @default no bound
   */
  readonly period?: string | number
  /**
   * Created at this instant or later. With `period`, the later bound holds.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly from?: Date | number
  /**
   * Created at this instant or earlier.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly to?: Date | number
  /**
   * So many records of each status are looked at: up to there a count is exact. 1 to 1,000,000.
   *
   * @unit records
   * @default `10000`
   */
  readonly atMost?: number
}

/** Filters of `wait.countTokens`. */
export interface CountTokensParams extends TagFilter {
  /**
   * Created within this time until now: a duration such as `1d`, or milliseconds.
   *
   * @default no bound
   */
  readonly period?: string | number
  /**
   * Created at this instant or later. With `period`, the later bound holds.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly from?: Date | number
  /**
   * Created at this instant or earlier.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly to?: Date | number
  /**
   * So many records of each status are looked at: up to there a count is exact. 1 to 1,000,000.
   *
   * @unit records
   * @default `10000`
   */
  readonly atMost?: number
}

/** How many runs there are of each status. A count with `isMore` is bounded: there may be more. */
export type RunCounts = { readonly [Status in RunStatus]: StatusCount }

/** How many tokens there are of each status. A count with `isMore` is bounded: there may be more. */
export type TokenCounts = { readonly [Status in TokenStatus]: StatusCount }
