import type { TokenRecord } from '../../contract/records.ts'

/** What a token is, as far as anybody can see. */
export type TokenState =
  | { readonly status: 'WAITING' }
  | { readonly status: 'COMPLETED'; readonly outputJson: string | undefined }
  | { readonly status: 'TIMED_OUT' }

/** What can be done to a token: it is looked at (read, awaited, swept), or completed. */
export interface TokenAction {
  readonly kind: 'look' | 'complete'
  /** What it is completed with. */
  readonly outputJson?: string | undefined
  /** The instant it is done at, as told to the storage. */
  readonly now: number
}

export interface TokenStep {
  readonly state: TokenState
  /** Whether this action completed it. */
  readonly won: boolean
  /** Whether this action settled it, by its deadline if not by completing it. */
  readonly settledNow: boolean
}

/**
 * The reference model of a token, pure and total: what becomes of it when something is done to it. It is written once; a
 * completion counts before its deadline and only then; whatever meets it at its deadline or later times it out.
 */
export function tokenAfter(
  state: TokenState,
  { kind, outputJson, now }: TokenAction,
  timeoutAt: number,
): TokenStep {
  if (state.status !== 'WAITING') return { state, won: false, settledNow: false }
  if (now >= timeoutAt) return { state: { status: 'TIMED_OUT' }, won: false, settledNow: true }
  if (kind === 'look') return { state, won: false, settledNow: false }
  return { state: { status: 'COMPLETED', outputJson }, won: true, settledNow: true }
}

/** The state of a token as a record says it. */
export function tokenStateOf({ status, outputJson }: TokenRecord): TokenState {
  return status === 'COMPLETED' ? { status, outputJson } : { status }
}

/** Whether two people saw the same. */
export function isSameState(one: TokenState, other: TokenState): boolean {
  if (one.status === 'COMPLETED' && other.status === 'COMPLETED') return one.outputJson === other.outputJson
  return one.status === other.status
}
