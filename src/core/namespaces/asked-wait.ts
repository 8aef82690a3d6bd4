import type { AskedWait } from '../../contract/question-keys.ts'
import type { KeyRecord, TokenKind, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted, TokenInserted } from '../../contract/storage.ts'
import type { CreateTokenOptions, Duration, ForTokenOptions, Unwrappable } from '../../api/token.ts'
import { chain, isPromise, mayBeLeft } from '../../primitives/awaitable.ts'
import { parseDeadline, parseInstant } from '../../primitives/duration.ts'
import { requireOptions, requireSignal } from '../../primitives/require.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { assertOpen, fenceOf } from '../attempt/attempt.ts'
import { INSERT_TOKEN, LIST_TOKENS } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import type { ReadDeadline } from '../waits/sleep.ts'
import { type ReadSettlement, rejectedWait } from '../waits/waiter.ts'

/** One call of a function that waits: its name, its options, and which there are. */
export interface WaitCall<Options extends ForTokenOptions = ForTokenOptions> {
  readonly what: string
  readonly options: Options
  readonly names: Readonly<Record<string, unknown>>
}

/** The fields of a token that does not exist yet. */
export interface NewToken {
  /** The kind of wait. */
  readonly asks: string
  readonly kind: TokenKind
  readonly timeoutAt: number
  /** As the user gave it, for a deadline that counts from the creation. */
  readonly timeout?: CreateTokenOptions['timeout']
  readonly tags: readonly string[]
  readonly key: KeyRecord | undefined
  readonly questionJson?: string
  readonly now: number
  /** The attempt that creates it. */
  readonly scope: Attempt | undefined
}

/** The key of a wait that was given none; nothing outside of a run. A wait that does not fit makes the run stand still. */
export function placeInRun(
  kernel: Kernel,
  scope: Attempt | undefined,
  wait: AskedWait,
): KeyRecord | undefined {
  return scope === undefined ? undefined : kernel.place(scope, wait)
}

/** Begins to wait for the token that `findToken` finds or makes. */
export function beginWait<Result, Output>(
  kernel: Kernel,
  { what, options, names, read }: WaitCall & { readonly read: ReadSettlement<Result, Output> },
  findToken: (scope: Attempt) => Awaitable<string>,
): Unwrappable<Result, Output> {
  let scope: Attempt
  try {
    scope = kernel.requireRunning(what)
    requireOptions(options, `the options of ${what}`, names)
    requireSignal(options.signal, 'signal')
  } catch (error) {
    return rejectedWait(() => kernel.refused(error))
  }
  return kernel.waitpoints.wait(kernel.waitpoints.waiter(scope, read), findToken, options.signal)
}

/**
 * Makes a token, or finds the one that was made by its key. With a deadline that is past, or what cannot be asked, only a token that was
 * there before will do: `refused` says so otherwise.
 *
 * A key of the user's tells nothing of the answers that came before, nor of which run has asked what.
 */
export function askToken(
  kernel: Kernel,
  token: NewToken,
  refused: unknown,
): Awaitable<Inserted<TokenRecord>> {
  const { asks, key, scope } = token
  const told = key?.expiresAt === undefined ? undefined : kernel.tell(scope, asks, key.value)
  if (!isPromise(told)) return insert(kernel, token, refused)
  return Promise.all([mayBeLeft(told), insert(kernel, token, refused)]).then(([, inserted]) => inserted)
}

function insert(kernel: Kernel, token: NewToken, refused?: unknown): Awaitable<Inserted<TokenRecord>> {
  if (refused !== undefined) return found(kernel, token, refused)
  const { host } = kernel
  const { kind, timeoutAt, tags, key, scope, now, questionJson } = token
  const slot = scope?.whenExecuting()
  if (slot !== undefined) return insertAfter(kernel, slot, token)
  const { id, createdAt } = host.made(kind === 'MANUAL' ? 'waitpoint' : 'sleep', now)
  const runId = scope?.id
  const plain: TokenRecord = { id, kind, status: 'WAITING', timeoutAt, tags, key, runId, createdAt }
  const record = questionJson === undefined ? plain : { ...plain, questionJson }
  const request = { record, fence: fenceOf(scope), now, by: host.owner }
  const inserted = kernel.written(scope, INSERT_TOKEN, request)
  return isPromise(inserted)
    ? insertedLater(kernel, inserted, record)
    : publishInserted(kernel, inserted, record)
}

/** Apart from `insert`, which would pay for what this captures. */
function insertedLater(
  kernel: Kernel,
  inserted: Promise<TokenInserted>,
  record: TokenRecord,
): Promise<TokenInserted> {
  return inserted.then((answer) => publishInserted(kernel, answer, record))
}

function publishInserted(
  { publisher, ticker }: Kernel,
  inserted: TokenInserted,
  record: TokenRecord,
): TokenInserted {
  if (!inserted.isCached) {
    if (record.timeoutAt !== undefined) ticker.dueAt(record.timeoutAt, 'token', record.id)
    publisher.token(record)
  }
  if (inserted.settledNow === true) publisher.token(inserted.record)
  return inserted
}

/** Once its run has its slot: a token is as old as its record, and its time begins then. */
async function insertAfter(
  kernel: Kernel,
  slot: Promise<unknown>,
  token: NewToken,
): Promise<Inserted<TokenRecord>> {
  await slot
  assertOpen(token.scope)
  const now = kernel.host.now()
  const { timeout } = token
  const timeoutAt = timeout === undefined ? token.timeoutAt : readTimeout(timeout, now).timeoutAt
  return insert(kernel, { ...token, timeoutAt, now })
}

function found(kernel: Kernel, token: NewToken, refused: unknown): Awaitable<Inserted<TokenRecord>> {
  return chain(holder(kernel, token), (record) => {
    if (record === undefined) throw refused
    return { record, isCached: true }
  })
}

/** The token that holds the key, if its key has not expired. */
function holder(kernel: Kernel, { kind, key, now }: NewToken): Awaitable<TokenRecord | undefined> {
  if (key === undefined) return undefined
  const { publisher } = kernel
  const listed = kernel.asked(LIST_TOKENS, { filter: { kind, key }, page: { limit: 1 }, now })
  return chain(listed, ({ records: [newest], settled }) => {
    for (const record of settled) publisher.token(record)
    return now < (newest?.key?.expiresAt ?? Number.POSITIVE_INFINITY) ? newest : undefined
  })
}

/** A deadline that can be read; `past` when it must not be that of a new token. */
export function readTimeout(timeout: Duration | Date, now: number): ReadDeadline {
  const name = 'timeout'
  try {
    return { timeoutAt: parseDeadline(timeout, { now, name }) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { timeoutAt: parseInstant(timeout, { now, name }), past: error }
  }
}
