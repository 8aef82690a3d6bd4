import type { TokenStatus } from '../contract/records.ts'
import type { CountTokensParams, TokenCounts } from './counts.ts'
import type { CursorPagePromise } from './cursor-page.ts'
import type { WaitpointTimeoutError } from './errors.ts'
import type { Storage } from '../contract/storage.ts'
import { WaitpointError } from './errors.ts'
import type { AnsweredBy, Answerer, Person, Question, QuestionOptions, Withdrawal } from './question.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'
import type { TagFilter } from './tag-filter.ts'

/** A duration: milliseconds, or a string such as `10m`, `1.5h`, `2 days`, `1h30m`. */
export type Duration = number | string

/** A token by id, or anything that carries one. */
export type TokenReference = string | { readonly id: string }

/**
 * Options every wait takes: used again, an unexpired key skips to the wait it named first (docs/waitpoints.md).
 *
 * In a run that is executed again a wait is found without any option, by its place in the run. Give it a `name` if the code
 * of the run may change while it waits. Give it a key if the wait must be found from elsewhere: by another run, by code outside of
 * runs, or by the next attempt after a failure, for which all other waits begin anew.
 */
export interface IdempotencyOptions {
  /**
   * Used again before it expires, the key finds what it named first instead of something new.
   *
   * @default none
   */
  readonly idempotencyKey?: string
  /**
   * How long the key stays valid, counted from its first use.
   *
   * Choose it longer than the wait. A run that is executed again after its key has expired gets a new token. Waits in a
   * run need no key for that.
   *
   * @example
   * ```ts
   * await wait.createToken({ timeout: '24h', idempotencyKey: 'approval-7', idempotencyKeyTTL: '25h' })
   * ```
   *
   * @default `'1h'`
   */
  readonly idempotencyKeyTTL?: Duration
}

/** Options of `wait.createToken` (docs/waitpoints.md). */
export interface CreateTokenOptions extends IdempotencyOptions, QuestionOptions {
  /**
   * The deadline: a duration from now, a `Date`, or an ISO 8601 string.
   *
   * @default `'10m'`
   */
  readonly timeout?: Duration | Date
  /**
   * Names the wait: a run that is executed again finds it by its name, over any change of code. Two waits of one name in
   * a run are an error. See docs/changing-code.md.
   *
   * @default none
   */
  readonly name?: string
  /**
   * Up to 10 tags, each of 1 to 128 characters.
   *
   * @default none
   */
  readonly tags?: string | readonly string[]
}

/** Options of `wait.createToken` with a schema of code, which types the output. */
export interface CreateTypedTokenOptions<Output> extends CreateTokenOptions {
  readonly schema: StandardSchemaV1<unknown, Output>
}

declare const OUTPUT: unique symbol

/** A token whose output has a known type. */
export interface TypedToken<Output> {
  readonly id: string
  /** For the compiler only. */
  readonly [OUTPUT]?: Output
}

/** A token as `wait.createToken` answers it (docs/waitpoints.md). */
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

/** Links to the page of a token, as engines have them: signed there, so that a client has none. Copies and JSON of a listed token are without them. */
export interface TokenLinks {
  /** The address of a page on which a person answers, for a mail (docs/ask-a-person.md). Afterwards it shows the outcome. It needs a `baseUrl`, or `serve`. */
  readonly link: string
  /** The link for one person: an answer by it is theirs. Throws a TypeError for a person without an id. */
  linkFor(person: Person): string
}

/** A token as the `wait.createToken` of an engine answers it: with links to a page for people. */
export interface LinkedToken extends CreatedToken, TokenLinks {}

/** A token of a question with a schema, as `wait.createToken` answers it (docs/ask-a-person.md). */
export interface TypedCreatedToken<Output> extends CreatedToken, TypedToken<Output> {}

/** A token as `wait.listTokens` shows it (docs/waitpoints.md). */
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
  /** The run that made it, if one did. Over HTTP only secret keys see it. */
  readonly runId?: string
  /** What it asks, if it is a question (docs/ask-a-person.md). */
  readonly question?: Question
  /** Who answered it, if that is known. */
  readonly answeredBy?: AnsweredBy
  /** Of a token that is `TIMED_OUT` because it was withdrawn. */
  readonly withdrawn?: Withdrawal
}

/** A token as `wait.retrieveToken` shows it: with its output, or with the error of its time-out. */
export interface RetrievedToken<Output> extends Token {
  /**
   * The runs that wait for it, at most a hundred, in order of id. Absent once it is settled, and where the storage cannot
   * tell. Over HTTP only secret keys see them.
   */
  readonly waitingRuns?: readonly string[]
  readonly output?: Output
  readonly error?: WaitpointTimeoutError
}

/** Why a signal of `wait.signal` is aborted: a `DOMException` with the answer. */
export interface TokenAbort<Output> extends Error {
  readonly name: 'AbortError'
  readonly tokenId: string
  readonly output: Output
}

/** A signal that the completion of a token aborts: see `wait.signal` in docs/waitpoints.md. */
export interface TokenSignal<Output = unknown> extends AbortSignal {
  /** Only once it is `aborted`. */
  readonly reason: TokenAbort<Output> | undefined
}

/**
 * The answer to a completion, or to another change: `success` says whether *this* call settled or changed the token; `status` is what
 * it is now.
 */
export interface CompletedToken {
  readonly success: boolean
  readonly status: TokenStatus
  /** Who settled it, if that is known: the winner, for the loser of a race. With a `reason`, if it was withdrawn. */
  readonly by?: Withdrawal
}

/** Filters of `wait.listTokens` (docs/waitpoints.md). */
export interface ListTokensParams extends TagFilter {
  /**
   * Any of these statuses.
   *
   * @default all
   */
  readonly status?: TokenStatus | readonly TokenStatus[]
  /**
   * Tokens with this key.
   *
   * @default all
   */
  readonly idempotencyKey?: string
  /**
   * Created within this time until now.
   *
   * @default no bound
   */
  readonly period?: '1h' | '1d' | '7d' | '30d' | (string & {}) | number
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
   * Items of a page, 1 to 100.
   *
   * @unit items
   * @default `25`
   */
  readonly limit?: number
  /**
   * The page after this id.
   *
   * @default the first page
   */
  readonly after?: string
  /**
   * The page before this id. Excludes `after`.
   *
   * @default the first page
   */
  readonly before?: string
}

/** The result of `wait.forToken` (docs/waitpoints.md). */
export type WaitResult<Output> =
  | {
      readonly ok: true
      readonly output: Output
      /** Who answered, if that is known. */
      readonly by?: AnsweredBy
    }
  | { readonly ok: false; readonly error: WaitpointTimeoutError }

/** A native promise of a result, with a promise of the bare output beside it. */
export interface Unwrappable<Result, Output> extends Promise<Result> {
  /** The output itself; rejects with the error when the result is not ok. */
  unwrap(): Promise<Output>
}

/** The promise of `wait.forToken`. */
export type WaitPromise<Output> = Unwrappable<WaitResult<Output>, Output>

/** Options of `wait.forToken`. */
export interface ForTokenOptions extends IdempotencyOptions {
  /**
   * Names the wait: a run that is executed again waits by its name for the token of the first time, over any change of code. Two
   * waits of one name in a run are an error. See docs/changing-code.md.
   *
   * @default none
   */
  readonly name?: string
  /**
   * Drops this wait, and only this one; it rejects with the reason.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** How long `wait.for` sleeps: the parts are added up. */
export interface WaitForOptions extends IdempotencyOptions {
  /**
   * How many seconds.
   *
   * @unit seconds
   * @default `0`
   */
  readonly seconds?: number
  /**
   * How many minutes.
   *
   * @unit minutes
   * @default `0`
   */
  readonly minutes?: number
  /**
   * How many hours.
   *
   * @unit hours
   * @default `0`
   */
  readonly hours?: number
  /**
   * How many days.
   *
   * @unit days
   * @default `0`
   */
  readonly days?: number
  /**
   * How many weeks.
   *
   * @unit weeks
   * @default `0`
   */
  readonly weeks?: number
  /**
   * How many months of 30 days.
   *
   * @unit months
   * @default `0`
   */
  readonly months?: number
  /**
   * How many years of 365 days.
   *
   * @unit years
   * @default `0`
   */
  readonly years?: number
  /**
   * Names the wait: a run that is executed again finds it by its name, over any change of code. Two waits of one name in
   * a run are an error. See docs/changing-code.md.
   *
   * @default none
   */
  readonly name?: string
  /**
   * Drops this wait, and only this one; it rejects with the reason.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Until when `wait.until` sleeps. */
export interface WaitUntilOptions extends IdempotencyOptions {
  /** The instant at which the run goes on. */
  readonly date: Date
  /**
   * Whether a date in the past throws. Without it such a wait returns at once.
   *
   * @default `false`
   */
  readonly throwIfInThePast?: boolean
  /**
   * Names the wait: a run that is executed again finds it by its name, over any change of code. Two waits of one name in
   * a run are an error. See docs/changing-code.md.
   *
   * @default none
   */
  readonly name?: string
  /**
   * Drops this wait, and only this one; it rejects with the reason.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Tokens and waits (docs/waitpoints.md). */
export interface WaitNamespace {
  /**
   * Creates a token (docs/waitpoints.md). In a run it is bound to the call: an interrupted run finds the same token again,
   * unless it has an `idempotencyKey` of its own that has expired meanwhile.
   *
   * Rejects with a TypeError or RangeError for options that cannot be used, a timeout in the past among them.
   *
   * @example
   * ```ts
   * const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
   * await mail(token.url) // a POST to it completes the token
   * ```
   */
  createToken<Output>(options: CreateTypedTokenOptions<Output>): Promise<TypedCreatedToken<Output>>
  createToken(options?: CreateTokenOptions): Promise<CreatedToken>
  /**
   * Pauses the run until the token is settled (docs/waitpoints.md). Only in a run. A time-out is a result, with
   * `ok: false`; `unwrap()` rejects with it as a WaitpointTimeoutError.
   *
   * Rejects with `ERR_NOT_IN_RUN`, `ERR_TOKEN_NOT_FOUND`, the reason of `signal`, or a RunCanceledError.
   *
   * @example
   * ```ts
   * const { approved } = await wait.forToken<{ approved: boolean }>(token).unwrap()
   * ```
   */
  forToken<Output = unknown>(
    token: TokenReference | TypedToken<Output>,
    options?: ForTokenOptions,
  ): WaitPromise<Output>
  /**
   * A signal that is aborted when the token is completed (docs/waitpoints.md#a-signal-instead-of-a-wait). Only in a run, which does not
   * park for it: it goes on with its work, and passes the signal on. A time-out is no answer and aborts nothing.
   *
   * Rejects with `ERR_NOT_IN_RUN`, `ERR_TOKEN_NOT_FOUND`, or a RunCanceledError.
   *
   * @example
   * ```ts
   * const stop = await wait.signal<string>(token)
   * const response = await fetch('https://example.com/slow', { signal: stop })
   * ```
   */
  signal<Output = unknown>(token: TokenReference): Promise<TokenSignal<Output>>
  /**
   * Completes a token with any JSON value (docs/waitpoints.md); the first completion wins and the others are told so.
   * Rejects with `ERR_TOKEN_NOT_FOUND` or `ERR_NOT_SERIALIZABLE`, and for a question with `ERR_OUTPUT_INVALID` or
   * `ERR_NOT_APPROVER`: the token then waits on (docs/ask-a-person.md).
   */
  completeToken(
    token: TokenReference,
    output?: unknown,
    options?: CompleteTokenOptions,
  ): Promise<CompletedToken>
  /** A token with its output (docs/waitpoints.md). Rejects with `ERR_TOKEN_NOT_FOUND`. */
  retrieveToken<Output = unknown>(token: TokenReference): Promise<RetrievedToken<Output>>
  /**
   * Tokens, newest first, never with the output (docs/waitpoints.md). Awaited: one page; iterated: all of them. Rejects
   * with a TypeError or RangeError for filters that cannot be used.
   *
   * @example
   * ```ts
   * for await (const token of engine.wait.listTokens({ status: 'WAITING', tags: 'review' })) console.log(token.url)
   * ```
   */
  listTokens(params?: ListTokensParams): CursorPagePromise<Token>
  /** Pauses the run for a time (docs/waitpoints.md): `{ hours: 1, minutes: 30 }` is 90 minutes. Only in a run. */
  for(options: WaitForOptions): Promise<void>
  /** Pauses the run until an instant (docs/waitpoints.md). Only in a run. */
  until(options: WaitUntilOptions): Promise<void>
}

/** Tokens and waits of an engine in this process, as its runs see them. */
export interface LinkingWaitNamespace extends WaitNamespace {
  createToken<Output>(options: CreateTypedTokenOptions<Output>): Promise<LinkedToken & TypedToken<Output>>
  createToken(options?: CreateTokenOptions): Promise<LinkedToken>
  retrieveToken<Output = unknown>(token: TokenReference): Promise<RetrievedToken<Output> & TokenLinks>
  listTokens(params?: ListTokensParams): CursorPagePromise<Token & TokenLinks>
}

/** Tokens and waits, as an engine in this process has them. */
export interface EngineWaitNamespace extends LinkingWaitNamespace {
  /**
   * Ends the wait for a token without an answer, if it is not settled: it is `TIMED_OUT` now, and says who withdrew it and why
   * (docs/ask-a-person.md#change-your-mind). Rejects with `ERR_TOKEN_NOT_FOUND`, and with a TypeError on a storage that cannot do it.
   *
   * @example
   * ```ts
   * await engine.wait.withdrawToken(token, { reason: 'The order was canceled.', by: { id: 'ann' } })
   * ```
   */
  withdrawToken(token: TokenReference, options?: WithdrawTokenOptions): Promise<CompletedToken>
  /**
   * Gives a token that waits another deadline, later or earlier: a duration from now, a `Date`, or an ISO 8601 string. Rejects with
   * `ERR_TOKEN_NOT_FOUND`, and with a RangeError for a deadline that cannot be read or is past.
   */
  extendToken(token: TokenReference, timeout: Duration | Date): Promise<CompletedToken>
  /**
   * Gives a token that waits other approvers: from then on an answer needs a `by` that is one of these. Rejects with
   * `ERR_TOKEN_NOT_FOUND`, `ERR_NOT_APPROVER`, and with a TypeError or RangeError for approvers that `createToken` would not take.
   */
  reassignToken(
    token: TokenReference,
    approvers: readonly string[],
    options?: ReassignTokenOptions,
  ): Promise<CompletedToken>
  /**
   * How many tokens there are of each status. Of each status up to 10,000 tokens are looked at (`atMost`): a count is exact
   * unless it says `isMore`. Rejects with a TypeError or RangeError for filters that cannot be used. See docs/options.md.
   *
   * @example
   * ```ts
   * const { WAITING } = await engine.wait.countTokens({ tags: 'review' })
   * ```
   */
  countTokens(params?: CountTokensParams): Promise<TokenCounts>
  /**
   * One token as it is, and again whenever its deadline, its approvers or its status are others, until it is settled: the last one
   * says who answered. Changes by this engine are told at once, those by other processes soon after. Iterated, it throws
   * `ERR_TOKEN_NOT_FOUND`, and `ERR_ENGINE_CLOSED` when the engine is closed. See docs/ask-a-person.md.
   *
   * @throws TypeError for what is no token.
   *
   * @example
   * ```ts
   * for await (const { status, answeredBy } of engine.wait.subscribeToToken(token)) console.log(status, answeredBy?.name)
   * ```
   */
  subscribeToToken<Output = unknown>(
    token: TokenReference,
  ): AsyncIterable<RetrievedToken<Output> & TokenLinks>
  /**
   * What waits, as a live list: the newest waiting tokens, never with an output, now and whenever they are others. Changes by
   * this engine are told at once, those by other processes soon after. It
   * ends when its reader leaves; iterated, it throws `ERR_ENGINE_CLOSED` when the engine is closed, and a TypeError or
   * RangeError for options that cannot be used. See docs/waitpoints.md.
   *
   * @example
   * ```ts
   * for await (const tokens of engine.wait.subscribeToTokens({ tags: 'review' })) console.log(tokens.length)
   * ```
   */
  subscribeToTokens(params?: SubscribeToTokensParams): AsyncIterable<readonly (Token & TokenLinks)[]>
}

/** Options of `wait.subscribeToTokens`. */
export interface SubscribeToTokensParams extends TagFilter {
  /**
   * Tokens of a list, 1 to 100.
   *
   * @unit tokens
   * @default `25`
   */
  readonly limit?: number
}

/** A transaction of the caller's own that a call becomes part of. */
export interface TransactionOptions {
  /**
   * A connection on which the caller has begun a transaction: the call takes effect if and when that is committed. For
   * storages in a database: with `waitpoint/postgres` a client of `pg`. Others reject with
   * `ERR_TRANSACTION_UNSUPPORTED`.
   *
   * @default none
   */
  readonly transaction?: object
}

/** Options of `wait.completeToken` (docs/ask-a-person.md). */
export interface CompleteTokenOptions extends TransactionOptions {
  /**
   * Who answers: stored with the token, if this completion wins.
   *
   * @default not known
   */
  readonly by?: Answerer
}

/** Options of `wait.withdrawToken` (docs/ask-a-person.md#change-your-mind). */
export interface WithdrawTokenOptions {
  /**
   * Why, for people: at most 1,000 characters.
   *
   * @default none
   */
  readonly reason?: string
  /**
   * Who withdraws it.
   *
   * @default not known
   */
  readonly by?: Answerer
}

/** Options of `wait.reassignToken`. */
export interface ReassignTokenOptions {
  /**
   * Who reassigns it: refused with `ERR_NOT_APPROVER` if it has approvers, and they are none of them.
   *
   * @default your code, which may
   */
  readonly by?: Answerer
}

/** @throws WaitpointError `ERR_TRANSACTION_UNSUPPORTED` when the storage has none that a call could be part of. */
export function requireJoining(storage: Storage, what: string): void {
  if (storage.joinsTransactions === true) return
  throw new WaitpointError(
    'ERR_TRANSACTION_UNSUPPORTED',
    `Cannot ${what} in a transaction: the storage of this engine has none; use postgresStorage of waitpoint/postgres`,
  )
}
