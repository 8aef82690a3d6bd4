import type { Clock } from '../../contract/clock.ts'
import type { RandomSource } from '../../contract/random.ts'
import { AccessTokenError } from './credential.ts'
import type { RetryOptions } from '../../api/retry.ts'
import { parseDuration } from '../../primitives/duration.ts'
import {
  type OptionNames,
  requireFunction,
  requireMethods,
  requireName,
  requireOptions,
  requireSignal,
  requireWhole,
  show,
} from '../../primitives/require.ts'

/** Options of `createClient`. See docs/options.md. */
export interface ClientOptions {
  /** Where the service is reached, with the base path of its handler: the `url` of `serve()`. */
  readonly baseUrl: string
  /**
   * A secret key, a public access token, or a function that answers a fresh one. What it answers is kept until it expires,
   * or is refused.
   */
  readonly accessToken: string | (() => string | Promise<string>)
  /**
   * Sends a request. A handler of `createHandler` will do.
   *
   * @default the platform's `fetch`
   */
  readonly fetch?: (request: Request) => Promise<Response>
  /**
   * How often a call is sent again after no answer, 408, 429 or 5xx, as the same request. A subscription that was
   * connected goes on trying for as long as it is read.
   *
   * @default 5 attempts, from 500 ms on, twice as long each time, at most 60 s
   */
  readonly retry?: RetryOptions
  /**
   * How long one attempt of a call may take: milliseconds, or a duration string.
   *
   * @unit milliseconds
   * @default `'60s'`
   */
  readonly timeout?: number | string
  /**
   * Ends everything that this client does.
   *
   * @default none
   */
  readonly signal?: AbortSignal
  /**
   * The source of time.
   *
   * @default the wall clock
   */
  readonly clock?: Clock
}

/** The sources of time and randomness when the options name none. */
export interface ClientDefaults {
  readonly clock: Clock
  readonly random: RandomSource
}

/** The checked options with their defaults. */
export interface ClientSettings {
  readonly baseUrl: string
  readonly accessToken: () => Promise<string>
  readonly fetch: (request: Request) => Promise<Response>
  readonly retry: RetryOptions & { readonly maxTimeoutInMs: number }
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
  readonly random: RandomSource
}

const NAMES: OptionNames<ClientOptions> = {
  baseUrl: true,
  accessToken: true,
  fetch: true,
  retry: true,
  timeout: true,
  signal: true,
  clock: true,
}
const RETRY_NAMES: OptionNames<RetryOptions> = {
  maxAttempts: true,
  factor: true,
  minTimeoutInMs: true,
  maxTimeoutInMs: true,
  randomize: true,
}

/** Checks all options of a client, before any request. */
export function readClientOptions(options: ClientOptions, defaults: ClientDefaults): ClientSettings {
  requireOptions(options, 'the options of createClient', NAMES)
  const { accessToken, fetch: send = platformFetch, retry = {}, timeout = 60_000, signal } = options
  const { clock = defaults.clock } = options
  requireFunction(send, 'fetch')
  requireOptions(retry, 'retry', RETRY_NAMES)
  const { maxAttempts = 5, minTimeoutInMs = 500, maxTimeoutInMs = 60_000 } = retry
  requireWhole(maxAttempts, 'retry.maxAttempts', { from: 1 })
  requireWhole(minTimeoutInMs, 'retry.minTimeoutInMs', { from: 0 })
  requireWhole(maxTimeoutInMs, 'retry.maxTimeoutInMs', { from: 0 })
  requireSignal(signal, 'signal')
  requireMethods(clock, 'clock', ['now', 'setTimer'])
  return {
    baseUrl: readBaseUrl(options.baseUrl),
    accessToken: readAccessToken(accessToken),
    // Called as a plain function, because the platform's `fetch` refuses to be a method.
    fetch: async (request) => send(request),
    retry: { ...retry, maxAttempts, minTimeoutInMs, maxTimeoutInMs },
    timeoutMs: parseDuration(timeout, 'timeout'),
    signal,
    clock,
    random: defaults.random,
  }
}

/** Looks `fetch` up at each call, so that a replacement of the global works. */
function platformFetch(request: Request): Promise<Response> {
  return fetch(request)
}

function readBaseUrl(baseUrl: unknown): string {
  const url = requireName(baseUrl, 'baseUrl')
  // On a web page, a path of its own origin is allowed too.
  if (/^(?:https?:\/\/[^\s/?#@\\]+)?(?:\/[^\s?#\\]*)?$/i.test(url)) return url.replace(/\/+$/, '')
  throw new TypeError(
    `Cannot use baseUrl ${show(url.replace(/\/\/.*@/s, '//…@'))}: it must be an http or https address without spaces, credentials, query or fragment`,
  )
}

function readAccessToken(accessToken: unknown): () => Promise<string> {
  const check = (token: unknown): string => {
    if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
    // The token is not shown, because all but one of its characters may be right.
    throw new TypeError('Cannot use accessToken: it must be a string of visible characters without spaces')
  }
  if (typeof accessToken !== 'function') {
    const token = check(accessToken)
    return async () => token
  }
  return async () => {
    let token: unknown
    try {
      token = await (accessToken as () => unknown)()
    } catch (error) {
      throw new AccessTokenError(error)
    }
    return check(token)
  }
}
