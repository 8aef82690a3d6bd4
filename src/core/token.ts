import type { TokenStatus } from '../contract/records.ts'
import type { CursorPagePromise } from './cursor-page.ts'
import type { WaitpointTimeoutError } from './errors.ts'

/** A duration: milliseconds, or a string such as `10m`, `1.5h`, `2 days`, `1h30m`. */
export type Duration = number | string

/** A token by id, or anything that carries one. */
export type TokenReference = string | { readonly id: string }

/** Options every wait takes: used again, an unexpired key skips to the wait it named first (specification 4.2). */
export interface IdempotencyOptions {
  readonly idempotencyKey?: string
  /** How long the key stays valid. Default `1h`. */
  readonly idempotencyKeyTTL?: Duration
}

/** Options of `wait.createToken` (specification 2.4). */
export interface CreateTokenOptions extends IdempotencyOptions {
  /** A duration, a `Date`, or an ISO 8601 string. Default `10m`. */
  readonly timeout?: Duration | Date
  readonly tags?: string | readonly string[]
}

/** What `wait.createToken` answers (specification 2.3). */
export interface CreatedToken {
  /** Starts with `waitpoint_`. */
  readonly id: string
  /** The idempotency key was used before: this is the token it named then, in whatever state. */
  readonly isCached: boolean
  /** A POST to this address completes the token; its body becomes the output. Computed when first read. */
  readonly url: string
  /** Completes this token, and nothing else, over HTTP. Computed when first read. */
  readonly publicAccessToken: string
}

/** A token as `wait.listTokens` shows it (specification 2.3). */
export interface Token {
  readonly id: string
  readonly status: TokenStatus
  readonly url: string
  readonly tags: readonly string[]
  readonly createdAt: Date
  readonly timeoutAt: Date
  readonly completedAt?: Date
  readonly idempotencyKey?: string
  readonly idempotencyKeyExpiresAt?: Date
}

/** A token as `wait.retrieveToken` shows it: with its output, or with the error of its time-out. */
export interface RetrievedToken<Output> extends Token {
  readonly output?: Output
  readonly error?: WaitpointTimeoutError
}

/** What became of a completion: `success` says whether *this* call settled the token; `status` is what it is now. */
export interface CompletedToken {
  readonly success: boolean
  readonly status: TokenStatus
}

/** Filters of `wait.listTokens` (specification 2.7). */
export interface ListTokensParams {
  readonly status?: TokenStatus | readonly TokenStatus[]
  /** Any of them. */
  readonly tags?: string | readonly string[]
  readonly idempotencyKey?: string
  /** Created within this time until now. */
  readonly period?: '1h' | '1d' | '7d' | '30d' | (string & {}) | number
  readonly from?: Date | number
  readonly to?: Date | number
  /** Items a page, 1 to 100. Default 25. */
  readonly limit?: number
  readonly after?: string
  readonly before?: string
}

/** The result of `wait.forToken` (specification 2.5). */
export type WaitResult<Output> =
  | { readonly ok: true; readonly output: Output }
  | { readonly ok: false; readonly error: WaitpointTimeoutError }

/** A native promise of a result, with a promise of the bare output beside it. */
export interface Unwrappable<Result, Output> extends Promise<Result> {
  /** The output itself; rejects with the error when the result is not ok. */
  unwrap(): Promise<Output>
}

/** What `wait.forToken` answers. */
export type WaitPromise<Output> = Unwrappable<WaitResult<Output>, Output>

/** Options of `wait.forToken`. */
export interface ForTokenOptions extends IdempotencyOptions {
  /** Drops this wait, and only this one; it rejects with the reason. */
  readonly signal?: AbortSignal
}

/** How long `wait.for` sleeps: the parts are added up. */
export interface WaitForOptions extends IdempotencyOptions {
  readonly seconds?: number
  readonly minutes?: number
  readonly hours?: number
  readonly days?: number
  readonly weeks?: number
  /** Of 30 days. */
  readonly months?: number
  /** Of 365 days. */
  readonly years?: number
  readonly signal?: AbortSignal
}

/** Until when `wait.until` sleeps. */
export interface WaitUntilOptions extends IdempotencyOptions {
  readonly date: Date
  /** Default false: a date in the past returns at once. */
  readonly throwIfInThePast?: boolean
  readonly signal?: AbortSignal
}

/** Tokens and waits (specification 4.2). */
export interface WaitNamespace {
  /** Creates a token. In a run it is bound to the call: an interrupted run finds the same token again. */
  createToken(options?: CreateTokenOptions): Promise<CreatedToken>
  /** Pauses the run until the token is settled. Only in a run. */
  forToken<Output = unknown>(token: TokenReference, options?: ForTokenOptions): WaitPromise<Output>
  /** Completes a token; the first completion wins and the others are told so. */
  completeToken(token: TokenReference, output?: unknown): Promise<CompletedToken>
  retrieveToken<Output = unknown>(token: TokenReference): Promise<RetrievedToken<Output>>
  /** Newest first, never with the output. Awaited: one page; iterated: all of them. */
  listTokens(params?: ListTokensParams): CursorPagePromise<Token>
  /** Pauses the run for a time. Only in a run. */
  for(options: WaitForOptions): Promise<void>
  /** Pauses the run until an instant. Only in a run. */
  until(options: WaitUntilOptions): Promise<void>
}
