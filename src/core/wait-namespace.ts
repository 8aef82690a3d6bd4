import { inspect } from 'node:util'
import type { KeyRecord, TokenKind, TokenRecord } from '../contract/records.ts'
import type { Awaitable, Inserted } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'
import { parseDeadline } from '../primitives/duration.ts'
import { idOf } from '../primitives/reference.ts'
import { requireObject } from '../primitives/require.ts'
import type { CursorPagePromise } from './cursor-page.ts'
import type { Kernel } from './kernel.ts'
import { readTags, userKey } from './new-run.ts'
import type { RunScope } from './run-scope.ts'
import { fromJson, toJson } from './serialize.ts'
import type { ReadDeadline } from './sleep.ts'
import { sleepDeadline } from './sleep.ts'
import type {
  CompletedToken,
  CreatedToken,
  CreateTokenOptions,
  Duration,
  ForTokenOptions,
  IdempotencyOptions,
  ListTokensParams,
  RetrievedToken,
  Token,
  TokenReference,
  WaitForOptions,
  WaitNamespace,
  WaitPromise,
  WaitUntilOptions,
} from './token.ts'
import { listTokens } from './token-list.ts'
import { tokenSettlement, viewCreatedToken, viewRetrievedToken } from './token-view.ts'
import { implicitKey } from './wait-key.ts'
import { Waiter } from './waiter.ts'
import { tokenNotFound } from './waitpoints.ts'

const DEFAULT_TIMEOUT = '10m'
const TOKEN_PREFIX = 'waitpoint_'

/** Tokens and waits of one engine. */
export class EngineWait implements WaitNamespace {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  createToken(options: CreateTokenOptions = {}): Promise<CreatedToken> {
    const { credentials } = this.#kernel.parts
    return this.#kernel.call(() => {
      requireObject(options, 'the options argument of wait.createToken')
      const { timeout = DEFAULT_TIMEOUT } = options
      const scope = this.#kernel.scope()
      const now = this.#kernel.parts.host.now()
      const { timeoutAt, past } = readTimeout(timeout, now)
      const tags = readTags(options.tags)
      const own = userKey(options, 'tokens', now)
      const key = own ?? (scope === undefined ? undefined : implicitKey(scope, 'token', options))
      const isTimeoutDefault = options.timeout === undefined
      const token = { kind: 'MANUAL', timeoutAt, isTimeoutDefault, tags, key, now, runId: scope?.id } as const
      const inserted = this.#insert(token, past)
      return chain(inserted, ({ record, isCached }) => viewCreatedToken(record, isCached, credentials))
    })
  }

  forToken<Output = unknown>(token: TokenReference, options: ForTokenOptions = {}): WaitPromise<Output> {
    return this.#wait('wait.forToken', options, {
      read: tokenSettlement<Output>,
      tokenId: (scope) => {
        const id = tokenId(token)
        return options.idempotencyKey === undefined ? id : this.#bind(scope, id, options)
      },
    })
  }

  completeToken(token: TokenReference, output?: unknown): Promise<CompletedToken> {
    const { host, journal, ticker } = this.#kernel.parts
    return this.#kernel.call(() => {
      const id = tokenId(token)
      const outputJson = toJson(output, `the output of token "${id}"`)
      const settled = host.storage.tokens.settle({ id, outputJson, by: host.owner, now: host.now() })
      return chain(settled, (answer) => {
        if (answer === undefined || answer.record.kind !== 'MANUAL') throw tokenNotFound(id)
        const { record, won } = answer
        if (won || answer.ready.length > 0) journal.token(record)
        ticker.settled(record.timeoutAt)
        return { success: won, status: record.status }
      })
    })
  }

  retrieveToken<Output = unknown>(token: TokenReference): Promise<RetrievedToken<Output>> {
    const { host, credentials } = this.#kernel.parts
    return this.#kernel.call(() => {
      const id = tokenId(token)
      return chain(host.storage.tokens.get(id, host.now()), (record) => {
        if (record?.kind !== 'MANUAL') throw tokenNotFound(id)
        return viewRetrievedToken<Output>(record, credentials)
      })
    })
  }

  listTokens(params: ListTokensParams = {}): CursorPagePromise<Token> {
    return listTokens(this.#kernel, params)
  }

  for(options: WaitForOptions): Promise<void> {
    return this.#sleep('for', options, options)
  }

  until(options: WaitUntilOptions): Promise<void> {
    return this.#sleep('until', options, {
      date: options.date,
      throwIfInThePast: options.throwIfInThePast === true,
    })
  }

  #sleep(
    kind: 'for' | 'until',
    options: IdempotencyOptions & { readonly signal?: AbortSignal },
    time: WaitForOptions | { readonly date: Date; readonly throwIfInThePast: boolean },
  ): Promise<void> {
    return this.#wait(`wait.${kind}`, options, {
      read: () => ({ result: undefined, output: undefined }),
      tokenId: (scope) => {
        const now = this.#kernel.parts.host.now()
        const { timeoutAt, past } = sleepDeadline(time, now)
        const { signal: _, ...plain } = options
        const key = userKey(options, 'sleeps', now) ?? implicitKey(scope, kind, plain)
        const isTimeoutDefault = false
        const token = {
          kind: 'SLEEP',
          timeoutAt,
          isTimeoutDefault,
          tags: [],
          key,
          now,
          runId: scope.id,
        } as const
        const inserted = this.#insert(token, past)
        return chain(inserted, ({ record }) => record.id)
      },
    })
  }

  #wait<Result, Output>(
    what: string,
    options: { readonly signal?: AbortSignal },
    {
      read,
      tokenId: findToken,
    }: {
      readonly read: Waiter<Result, Output>['read']
      readonly tokenId: (scope: RunScope) => Awaitable<string>
    },
  ): Waiter<Result, Output>['promise'] {
    let scope: RunScope
    try {
      scope = this.#kernel.requireScope(what)
    } catch (error) {
      return rejected(error)
    }
    const waiter = new Waiter<Result, Output>(scope, read)
    return this.#kernel.parts.waitpoints.wait(waiter, () => findToken(scope), options.signal)
  }

  /** The first call with a key binds it to its token; a later one waits for that token, whatever it was given. */
  #bind(scope: RunScope, id: string, options: IdempotencyOptions): Awaitable<string> {
    const { host } = this.#kernel.parts
    const now = host.now()
    return chain(host.storage.tokens.get(id, now), (token) => {
      if (token === undefined) throw tokenNotFound(id)
      const record: TokenRecord = {
        id: host.newId('binding'),
        kind: 'BINDING',
        status: 'COMPLETED',
        outputJson: JSON.stringify(id),
        tags: [],
        key: userKey(options, 'bindings', now),
        runId: scope.id,
        createdAt: now,
        completedAt: now,
      }
      // A binding's output is the id it was made with.
      const bound = host.storage.tokens.insert({ record, now, by: host.owner })
      return chain(bound, (answer) => fromJson(answer.record.outputJson) as string)
    })
  }

  /** With a deadline that is past only a token that was there before will do: `past` says so otherwise. */
  #insert(token: NewToken, past: RangeError | undefined): Awaitable<Inserted<TokenRecord>> {
    const { host, journal, ticker } = this.#kernel.parts
    if (past !== undefined) {
      return chain(this.#holder(token), (record) => {
        if (record === undefined) throw past
        return { record, isCached: true }
      })
    }
    const { kind, timeoutAt, isTimeoutDefault, tags, key, runId, now } = token
    const id = host.newId(kind === 'MANUAL' ? 'waitpoint' : 'sleep')
    const record: TokenRecord = { id, kind, status: 'WAITING', timeoutAt, tags, key, runId, createdAt: now }
    const stored = host.storage.tokens.insert({ record, isTimeoutDefault, now, by: host.owner })
    return chain(stored, (inserted) => {
      if (!inserted.isCached) {
        ticker.expect(token.timeoutAt, `token ${record.id}`)
        journal.token(record)
      }
      return inserted
    })
  }

  /** The token that holds the key, if its key has not expired. */
  #holder({ kind, key, now }: NewToken): Awaitable<TokenRecord | undefined> {
    if (key === undefined) return undefined
    const listed = this.#kernel.parts.host.storage.tokens.list({ kind, key }, { limit: 1 }, now)
    return chain(listed, ({ records: [newest] }) =>
      now < (newest?.key?.expiresAt ?? Number.POSITIVE_INFINITY) ? newest : undefined,
    )
  }
}

/** What is to be stored of a token that does not exist yet. */
interface NewToken {
  readonly kind: TokenKind
  readonly timeoutAt: number
  /** Nobody said when. */
  readonly isTimeoutDefault: boolean
  readonly tags: readonly string[]
  readonly key: KeyRecord | undefined
  readonly now: number
  readonly runId: string | undefined
}

/** A deadline that can be read; `past` when it must not be that of a new token. */
function readTimeout(timeout: Duration | Date, now: number): ReadDeadline {
  const name = 'timeout'
  try {
    return { timeoutAt: parseDeadline(timeout, { now, name }) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { timeoutAt: parseDeadline(timeout, { now: Number.NEGATIVE_INFINITY, name }), past: error }
  }
}

/**
 * The id of a token, checked. Ids that begin otherwise belong to what only its run may settle: a sleep, an effect.
 *
 * @throws TypeError when it is no id; WaitpointError `ERR_TOKEN_NOT_FOUND` when no token can have it.
 */
function tokenId(token: TokenReference): string {
  const id = idOf(token)
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`Cannot use ${inspect(token)} as a token: give its id, or what createToken answered`)
  if (!id.startsWith(TOKEN_PREFIX)) throw tokenNotFound(id)
  return id
}

function rejected<Result, Output>(error: unknown): Waiter<Result, Output>['promise'] {
  const reason = error instanceof Error ? error : new Error(String(error))
  const promise = Promise.reject<Result>(reason)
  const unwrapped = Promise.reject<Output>(reason)
  // Like every other wait: one that nobody awaits must not end the process.
  promise.catch(() => undefined)
  unwrapped.catch(() => undefined)
  return Object.assign(promise, { unwrap: () => unwrapped })
}
