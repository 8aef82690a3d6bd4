import type { Clock } from '../../contract/clock.ts'
import { ApiError } from './api-error.ts'
import { reasonOf } from './reason.ts'

/** A token that expires sooner is not used any more: the request takes a while to arrive. */
const MARGIN_MS = 10_000

/** The function of the user that answers access tokens failed, as it does without a connection. */
export class AccessTokenError extends ApiError {
  override name: string = 'AccessTokenError'

  constructor(cause: unknown) {
    super('ERR_API_UNAVAILABLE', `Cannot get an access token: ${reasonOf(cause)}`, { cause })
  }
}

/** The access token of requests. One that says when it expires is kept until then. */
export class Credential {
  readonly #ask: () => Promise<string>
  readonly #clock: Clock
  #kept: { readonly token: string; readonly until: number } | undefined
  /** The question that is out, for all requests that need its answer. */
  #asked: Promise<string> | undefined

  constructor(ask: () => Promise<string>, clock: Clock) {
    this.#ask = ask
    this.#clock = clock
  }

  /** The token for the next request. Rejects with an AccessTokenError, or with a TypeError for an answer that is no token. */
  token(): Promise<string> {
    if (this.#kept !== undefined && this.#clock.now() < this.#kept.until)
      return Promise.resolve(this.#kept.token)
    return (this.#asked ??= this.#renew().finally(() => {
      this.#asked = undefined
    }))
  }

  /**
   * The service refused this token. Answers whether another one may be had at once: this one may have been kept, and another request
   * may have learned sooner that it is refused.
   */
  refused(token: string): boolean {
    if (this.#kept?.token === token) this.#kept = undefined
    return expiryOf(token) > -Infinity
  }

  async #renew(): Promise<string> {
    const token = await this.#ask()
    const until = expiryOf(token) - MARGIN_MS
    this.#kept = until > this.#clock.now() ? { token, until } : undefined
    return token
  }
}

/** When a token expires, in epoch milliseconds; `-Infinity` for one that does not say. */
function expiryOf(token: string): number {
  const [, payload] = token.split('.')
  if (payload === undefined) return -Infinity
  try {
    const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : -Infinity
  } catch {
    return -Infinity
  }
}
