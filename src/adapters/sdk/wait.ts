import type {
  CreatedToken,
  ListTokensParams,
  RetrievedToken,
  Token,
  TokenReference,
  WaitForOptions,
  WaitResult,
} from '../../api/token.ts'
import { plainClock } from '../../clock/plain.ts'
import { mayBeLeft } from '../../primitives/awaitable.ts'
import { currentRun, waiting } from './current-run.ts'
import { type Pages, type CursoredPage, shownPages } from './page.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'
import { decodeValue, encodeValue } from './values.ts'
import { storedWait as wait } from './stored.ts'

/** An idempotency key of a wait, and how long it stays valid. */
export interface CommonWaitOptions {
  idempotencyKey?: string
  idempotencyKeyTTL?: string
}

type Period =
  | { seconds: number }
  | { minutes: number }
  | { hours: number }
  | { days: number }
  | { weeks: number }
  | { months: number }
  | { years: number }

/** How long `wait.for` sleeps. */
export type HostedWaitForOptions = Period & CommonWaitOptions

/** The result of `wait.forToken`. */
export type TokenResult<Output, Failure = Error> =
  { ok: true; output: Output } | { ok: false; error: Failure }

/** The promise of `wait.forToken`; unwrapped it is the output, or rejects with the time-out. */
export interface ManualWaitpointPromise<Output> extends Promise<TokenResult<Output>> {
  unwrap(): Promise<Output>
}

/** Options of `wait.createToken`. */
export interface HostedTokenOptions extends CommonWaitOptions {
  timeout?: string | Date
  tags?: string | string[]
}

/** A token that was created. */
export type HostedToken = Pick<CreatedToken, 'id' | 'isCached' | 'url' | 'publicAccessToken'>

/** A token as it is listed, with tags of its own. */
export type ListedToken = Omit<Token, 'tags'> & { tags: string[] }

/** A token as it is retrieved. */
export type RetrievedHostedToken<Output> = Omit<RetrievedToken<Output>, 'tags'> & { tags: string[] }

/** Waits and tokens, as the hosted service has them. */
export interface HostedWait {
  /** Sleeps. Only in a run. */
  for(options: HostedWaitForOptions): Promise<void>
  /** Sleeps until an instant. Only in a run. */
  until(options: { date: Date; throwIfInThePast?: boolean } & CommonWaitOptions): Promise<void>
  /** Creates a token. */
  createToken(options?: HostedTokenOptions, requestOptions?: RequestOptions): Promise<HostedToken>
  /** Pauses the run until a token is completed or has timed out. Only in a run. */
  forToken<Output>(token: TokenReference): ManualWaitpointPromise<Output>
  /** Completes a token with any value that the hosted service takes. */
  completeToken<Data>(
    token: TokenReference,
    data: Data,
    requestOptions?: RequestOptions,
  ): Promise<{ success: true }>
  retrieveToken<Output>(
    token: TokenReference,
    requestOptions?: RequestOptions,
  ): Promise<RetrievedHostedToken<Output>>
  listTokens(
    params?: ListTokensParams,
    requestOptions?: RequestOptions,
  ): Pages<ListedToken, CursoredPage<ListedToken, Token>>
}

const DAY_MS = 86_400_000
const PERIODS: Readonly<Record<string, number>> = {
  seconds: 1_000,
  minutes: 60_000,
  hours: 3_600_000,
  days: DAY_MS,
  weeks: 7 * DAY_MS,
  months: 30 * DAY_MS,
  years: 365 * DAY_MS,
}

/** Of several periods the first one counts, in the order of `PERIODS`, as in the hosted service. */
function withOnePeriod(options: HostedWaitForOptions): WaitForOptions {
  const given: Record<string, unknown> = { ...options }
  const [, ...others] = Object.keys(PERIODS).filter((name) => given[name] !== undefined)
  for (const name of others) given[name] = undefined
  return given
}

/** How long a sleep takes, in milliseconds. */
function lengthOf(options: WaitForOptions): number {
  const parts = Object.entries(options).map(([name, count]) => (PERIODS[name] ?? 0) * Number(count ?? 0))
  return parts.reduce((total, part) => total + part, 0)
}

/** A shorter sleep, or one of this length, is none to the hooks, as in the hosted service. */
const SHORTEST_TOLD_MS = 5_000

/** Starts a sleep, and calls the hooks around it if it is not short. */
export function sleeping(end: number | Date, start: () => Promise<void>): Promise<void> {
  // The engine refuses what is no instant.
  const date = new Date(end)
  const isTold = date.getTime() - now() > SHORTEST_TOLD_MS
  return isTold ? waiting(() => ({ type: 'duration', date }), start) : start()
}

/** By the clock of the engine. */
export function now(): number {
  return (currentRun()?.place.clock ?? plainClock()).now()
}

/** `wait`. */
export const hostedWait: HostedWait = /* @__PURE__ */ takingRequests<HostedWait>(
  {
    for: (given) => {
      const options = withOnePeriod(given)
      const end = now() + lengthOf(options)
      return sleeping(end, () => wait.for(options))
    },
    until: (options) => sleeping(options.date, () => wait.until(options)),
    createToken: (options) => wait.createToken(options),
    forToken: <Output>(token: TokenReference) => {
      const id = typeof token === 'string' ? token : token.id
      const start = (): Promise<WaitResult<unknown>> => wait.forToken(token)
      return unwrappable<Output, Error>(
        waiting(() => ({ type: 'token', token: id }), start).then(read<Output>),
      )
    },
    completeToken: async (token, data) => {
      await wait.completeToken(token, encodeValue(data))
      return { success: true }
    },
    retrieveToken: async <Output>(token: TokenReference) => {
      const retrieved = await wait.retrieveToken(token)
      // The type of the output is the caller's.
      return Object.assign(withTags(retrieved), { output: decodeValue(retrieved.output) as Output })
    },
    listTokens: (params) => shownPages(wait.listTokens(params), withTags),
  },
  { createToken: 1, completeToken: 2, retrieveToken: 1, listTokens: 1 },
)

/** A view of the engine, which makes a new one for each caller, with tags of its own. */
function withTags<View extends Token>(token: View): View & { tags: string[] } {
  return Object.assign(token, { tags: [...token.tags] })
}

function read<Output>(result: WaitResult<unknown>): TokenResult<Output> {
  return result.ok ? { ok: true, output: decodeValue(result.output) as Output } : result
}

/** A result that may be left, with `unwrap()`. */
export function unwrappable<Output, Failure extends Error>(
  answer: Promise<TokenResult<Output, Failure>>,
): Promise<TokenResult<Output, Failure>> & { unwrap(): Promise<Output> } {
  const result = mayBeLeft(answer)
  return Object.assign(result, { unwrap: () => mayBeLeft(result.then(unwrapped)) })
}

function unwrapped<Output>(result: TokenResult<Output>): Output {
  if (result.ok) return result.output
  throw result.error
}
