import { AbortTaskRunError } from '../../api/errors.ts'
import type { RetryOptions } from '../../api/retry.ts'
import { plainClock } from '../../clock/plain.ts'
import { wait } from '../../core/ambient/ambient.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'
import { type OptionNames, requireOptions, show } from '../../primitives/require.ts'
import { type BodyFilter, bodyFits, requireBodyFilter } from './body-filter.ts'
import { currentRun } from './current-run.ts'
import type { RetryPolicy } from './hooks.ts'
import { delayAfter } from './jitter.ts'
import { requireTypes } from './option-types.ts'
import { takingRequests } from './request-options.ts'
import { now, sleeping } from './wait.ts'

/** How `retry.fetch` goes on after a response with one of these statuses, and with a body that the filter fits. */
export type FetchRetryStrategy =
  | ({ strategy: 'backoff'; bodyFilter?: BodyFilter } & RetryOptions)
  | {
      strategy: 'headers'
      bodyFilter?: BodyFilter
      /** Without effect, as there: the instant of the reset says it all. */
      limitHeader: string
      remainingHeader: string
      resetHeader: string
      resetFormat?:
        'unix_timestamp' | 'unix_timestamp_in_ms' | 'iso_8601' | 'iso_8601_duration_openai_variant'
    }

/** When `retry.fetch` asks again. */
export interface FetchRetryOptions {
  /** By statuses: `429`, `500-599`, `5xx`, or several with commas. */
  byStatus?: Record<string, FetchRetryStrategy>
  connectionError?: RetryOptions
  timeout?: RetryOptions
}

/** Options of `retry.fetch`. */
export interface RetryFetchRequestInit extends RequestInit {
  retry?: FetchRetryOptions
  /** How long each request may take until its response has come. 0 is none. */
  timeoutInMs?: number
}

/**
 * Retries inside of an attempt. Between the tries the run waits, and gives its slot back. `fetch` rejects with the reason of an
 * aborted `signal`, also that of a `Request` and between two requests; the hosted service counts it as a time-out.
 */
export interface Retry {
  /** Calls a function until it does not throw, or throws an `AbortTaskRunError`. */
  onThrow<Result>(
    work: (options: { attempt: number; maxAttempts: number }) => Promise<Result>,
    options: RetryOptions,
  ): Promise<Result>
  /**
   * Requests with the header `x-retry-count`, until a response is not to be tried again. Rejects with an error that has the one
   * of `fetch` as its cause; with the reason of the signal once that is aborted, also between the requests.
   */
  fetch(input: string | URL | Request, init?: RetryFetchRequestInit): Promise<Response>
}

const DEFAULTS: RetryOptions = { maxAttempts: 3 }
const DEFAULT_STATUSES: Record<string, FetchRetryStrategy> = {
  '429,408,409,5xx': { strategy: 'backoff', ...DEFAULTS },
}
/** Of one `retry.fetch`. */
const MOST_REQUESTS = 10

/** Milliseconds, or an instant of the clock of the engine. */
type Pause = number | Date

/** The tries of one call. Waits between them have names, as a later execution may need fewer tries, or more. */
class Retries {
  readonly #call: string
  readonly #run = currentRun()
  readonly #number: number | undefined
  #tries = 0

  constructor(call: string) {
    this.#call = call
    this.#number = this.#run?.nextNumber()
  }

  /** How many times it was tried, this time included. */
  next(): number {
    this.#tries += 1
    return this.#tries
  }

  /** Nothing after the last try, and for a policy without delays, as in the hosted service. */
  delay(policy: RetryOptions): number | undefined {
    const seed = `${this.#run?.ctx.run.id ?? ''}/${this.#call} ${this.#number ?? ''}`
    const delay = delayAfter(policy, this.#tries, seed)
    return delay === 0 ? undefined : delay
  }

  /** Rejects with `ERR_NOT_IN_RUN` outside of a run, where it cannot wait. */
  async sleep(pause: Pause, signal: AbortSignal | null = null): Promise<void> {
    const name = `${this.#call} ${this.#number ?? ''}, try ${this.#tries}`
    const options = { name, ...(signal ? { signal } : {}) }
    await (typeof pause === 'number'
      ? sleeping(now() + pause, () => wait.for({ seconds: pause / 1_000, ...options }))
      : sleeping(pause, () => wait.until({ date: pause, ...options })))
  }
}

async function onThrow<Result>(
  work: (options: { attempt: number; maxAttempts: number }) => Promise<Result>,
  options: RetryOptions,
): Promise<Result> {
  requirePolicy(options, 'the options of retry.onThrow')
  const retries = new Retries('retry.onThrow')
  const policy = { ...DEFAULTS, ...options }
  for (;;) {
    try {
      return await work({ attempt: retries.next(), maxAttempts: policy.maxAttempts ?? 3 })
    } catch (error) {
      if (error instanceof AbortTaskRunError || (error as Error | undefined)?.name === 'AbortTaskRunError')
        throw error
      const delay = retries.delay(policy)
      if (delay === undefined) throw error
      await retries.sleep(delay)
    }
  }
}

/** The error of a request that is not tried again, by the name that it has in the hosted service. */
class FetchError extends Error {
  readonly originalError: unknown

  constructor(originalError: unknown) {
    super('Fetch error', { cause: originalError })
    this.originalError = originalError
  }
}

async function retryFetch(
  input: string | URL | Request,
  { retry = {}, timeoutInMs, ...init }: RetryFetchRequestInit = {},
): Promise<Response> {
  requireRetry(retry)
  requireTypes({ timeoutInMs }, 'retry.fetch', { timeoutInMs: 'number' })
  if (!(input instanceof Request)) requireUrl(input)
  const signal = signalOf(input, init)
  const retries = new Retries('retry.fetch')
  for (;;) {
    const tries = retries.next()
    const headers = { ...headersOf(input, init), 'x-retry-count': String(tries) }
    const answer = await ask(input, { ...init, headers, signal }, timeoutInMs)
    const { response, error } = answer
    if (response?.ok === true) return response
    const delay =
      response === undefined
        ? delayAfterError(answer, retry, retries)
        : await delayOf(response, retry.byStatus ?? DEFAULT_STATUSES, retries)
    if (delay !== undefined && tries < MOST_REQUESTS) {
      await response?.body?.cancel()
      await retries.sleep(delay, signal)
    } else if (response === undefined) throw new FetchError(error)
    else return response
  }
}

/** @throws TypeError for what is no URL: to ask again would change nothing. */
function requireUrl(url: string | URL): void {
  new URL(url)
}

/** The signal of the options, else that of a request. */
function signalOf(input: string | URL | Request, { signal }: RequestInit): AbortSignal | null {
  return signal ?? (input instanceof Request ? input.signal : null)
}

/** The headers of a request as a plain object, as tests of applications expect them. */
function headersOf(input: string | URL | Request, { headers }: RequestInit): Record<string, string> {
  const given = headers ?? (input instanceof Request ? input.headers : {})
  const isPlain = !(given instanceof Headers || Array.isArray(given))
  return isPlain ? (given as Record<string, string>) : Object.fromEntries(new Headers(given))
}

/** A time-out and a connection that fails have policies of their own; other errors are those of the call. */
function delayAfterError(
  { error, isTimeout }: Answer,
  { timeout, connectionError }: FetchRetryOptions,
  retries: Retries,
): number | undefined {
  if (isTimeout === true) return retries.delay(timeout ?? DEFAULTS)
  const isOfConnection = error instanceof TypeError && error.cause instanceof Error
  return isOfConnection ? retries.delay(connectionError ?? DEFAULTS) : undefined
}

const POLICY_NAMES: OptionNames<RetryPolicy> = {
  maxAttempts: true,
  factor: true,
  minTimeoutInMs: true,
  maxTimeoutInMs: true,
  randomize: true,
  outOfMemory: true,
}
const RETRY_NAMES: OptionNames<FetchRetryOptions> = { byStatus: true, connectionError: true, timeout: true }
const STRATEGY_NAMES: Readonly<Record<FetchRetryStrategy['strategy'], Readonly<Record<string, unknown>>>> = {
  backoff: { ...POLICY_NAMES, strategy: true, bodyFilter: true },
  headers: {
    strategy: true,
    bodyFilter: true,
    limitHeader: true,
    remainingHeader: true,
    resetHeader: true,
    resetFormat: true,
  },
}

/** @throws TypeError for options that there are not. */
function requirePolicy(policy: RetryOptions | undefined, what: string): void {
  if (policy !== undefined) requireOptions(policy, what, POLICY_NAMES)
}

/** @throws TypeError or RangeError for options that there are not. */
function requireRetry(retry: FetchRetryOptions): void {
  requireOptions(retry, 'retry of retry.fetch', RETRY_NAMES)
  const { connectionError, timeout } = retry
  // One that is `undefined` is left out.
  const byStatus: Readonly<Record<string, FetchRetryStrategy | undefined>> = retry.byStatus ?? {}
  requirePolicy(connectionError, 'retry.connectionError of retry.fetch')
  requirePolicy(timeout, 'retry.timeout of retry.fetch')
  for (const [range, given] of Object.entries(byStatus))
    if (given !== undefined) requireStrategy(given, range)
}

function requireStrategy(given: FetchRetryStrategy, range: string): void {
  const { strategy, bodyFilter } = given
  if (!Object.hasOwn(STRATEGY_NAMES, strategy))
    throw new RangeError(
      `Cannot use the strategy ${show(strategy)} of retry.fetch: it must be "backoff" or "headers"`,
    )
  requireOptions(given, `retry.byStatus["${range}"] of retry.fetch`, STRATEGY_NAMES[strategy])
  if (bodyFilter !== undefined) requireBodyFilter(bodyFilter, `bodyFilter of retry.byStatus["${range}"]`)
}

interface Answer {
  readonly response?: Response
  readonly error?: unknown
  readonly isTimeout?: boolean
}

async function ask(
  input: string | URL | Request,
  init: RequestInit,
  timeoutInMs: number | undefined,
): Promise<Answer> {
  const { signal } = init
  signal?.throwIfAborted()
  const controller = new AbortController()
  const clock = plainClock()
  const cancel =
    timeoutInMs && Number.isFinite(timeoutInMs)
      ? clock.setTimer(clock.now() + timeoutInMs, () => controller.abort(), { label: 'retry.fetch' })
      : undefined
  // The signal is that of the body, too, which is read later.
  const either = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
  try {
    // A request with a body is sent again from a copy.
    const request = input instanceof Request ? input.clone() : input
    return { response: await fetch(request, { ...init, signal: either }) }
  } catch (error) {
    signal?.throwIfAborted()
    return { error, isTimeout: controller.signal.aborted }
  } finally {
    cancel?.()
  }
}

/** The pause before the next request. */
async function delayOf(
  response: Response,
  byStatus: Record<string, FetchRetryStrategy | undefined>,
  retries: Retries,
): Promise<Pause | undefined> {
  const strategy = await strategyOf(response, byStatus)
  if (strategy === undefined) return undefined
  return strategy.strategy === 'backoff'
    ? retries.delay({ ...DEFAULTS, ...strategy })
    : resetPause(response, strategy)
}

/** The first one whose statuses and filter fit. */
async function strategyOf(
  response: Response,
  byStatus: Record<string, FetchRetryStrategy | undefined>,
): Promise<FetchRetryStrategy | undefined> {
  for (const [range, strategy] of Object.entries(byStatus)) {
    if (strategy === undefined || !covers(range, response.status)) continue
    const { bodyFilter } = strategy
    if (bodyFilter === undefined) return strategy
    const body = await jsonOf(response)
    if (body !== undefined && bodyFits(body, bodyFilter)) return strategy
  }
  return undefined
}

/** The body as JSON; it can be read again. No body is `null`, `0` or an empty text, as in the hosted service. */
async function jsonOf(response: Response): Promise<unknown> {
  try {
    const body: unknown = await response.clone().json()
    return body || undefined
  } catch {
    return undefined
  }
}

function covers(ranges: string, status: number): boolean {
  return ranges.split(',').some((part) => {
    const range = part.trim()
    const [from = '', to] = range.split('-')
    if (to !== undefined) return status >= Number(from) && status <= Number(to)
    // `5xx` or `50x`
    const prefix = range.replace(/x{1,2}$/i, '')
    return (
      range === 'all' || (prefix === range ? status === Number(range) : String(status).startsWith(prefix))
    )
  })
}

/** Nothing if the header is missing or cannot be read. */
function resetPause(
  { headers }: Response,
  { resetHeader, resetFormat = 'unix_timestamp_in_ms' }: FetchRetryStrategy & { strategy: 'headers' },
): Pause | undefined {
  const reset = headers.get(resetHeader) ?? ''
  if (resetFormat === 'iso_8601_duration_openai_variant') return durationMs(reset)
  const at =
    resetFormat === 'iso_8601'
      ? Date.parse(reset)
      : Number.parseInt(reset, 10) * (resetFormat === 'unix_timestamp' ? 1_000 : 1)
  // As in the hosted service, 1970 is none either.
  return new Date(at).getTime() ? new Date(at) : undefined
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** No engine waits longer, as no date is that far ahead. */
const LONGEST_PAUSE = LAST_INSTANT / 2

/** `1d2h3m4.5s6ms`, any parts of it in this order. */
function durationMs(text: string): number | undefined {
  if (!/^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?$/.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)(ms|[dhms])/g)]
  if (parts.length === 0) return undefined
  const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0)
  return ms <= LONGEST_PAUSE ? ms : undefined
}

/** `retry`. */
export const retry: Retry = /* @__PURE__ */ takingRequests<Retry>({ onThrow, fetch: retryFetch })
