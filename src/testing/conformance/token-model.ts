import type { TokenRecord } from '../../contract/records.ts'

/** The observable state of a token. */
export type TokenState =
  | { readonly status: 'WAITING' }
  | { readonly status: 'COMPLETED'; readonly outputJson: string | undefined }
  | { readonly status: 'TIMED_OUT' }

/** An action on a token: a look (read, await, sweep) or a completion. */
export interface TokenAction {
  readonly kind: 'look' | 'complete'
  /** The output of a completion. */
  readonly outputJson?: string | undefined
  /** The completion makes the token time out instead. */
  readonly isTimeOut?: boolean | undefined
  /** The instant of the action, as given to the storage. */
  readonly now: number
}

export interface TokenStep {
  readonly state: TokenState
  /** Whether this action completed the token. */
  readonly won: boolean
  /** Whether this action settled the token, by completing it or by its deadline. */
  readonly settledNow: boolean
}

/**
 * The reference model of a token, as a pure and total function: the state after an action. A token is written once. A
 * completion counts only before the deadline; any action at the deadline or later times the token out.
 */
export function tokenAfter(
  state: TokenState,
  { kind, outputJson, isTimeOut, now }: TokenAction,
  timeoutAt: number,
): TokenStep {
  if (state.status !== 'WAITING') return { state, won: false, settledNow: false }
  if (now >= timeoutAt) return { state: { status: 'TIMED_OUT' }, won: false, settledNow: true }
  if (kind === 'look') return { state, won: false, settledNow: false }
  const end: TokenState = isTimeOut ? { status: 'TIMED_OUT' } : { status: 'COMPLETED', outputJson }
  return { state: end, won: true, settledNow: true }
}

/** The state of a token in a record. */
export function tokenStateOf({ status, outputJson }: TokenRecord): TokenState {
  return status === 'COMPLETED' ? { status, outputJson } : { status }
}

/** Whether two states are equal. */
export function isSameState(one: TokenState, other: TokenState): boolean {
  if (one.status === 'COMPLETED' && other.status === 'COMPLETED') return one.outputJson === other.outputJson
  return one.status === other.status
}
