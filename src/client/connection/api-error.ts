import { type ErrorCode, WaitpointError } from '../../api/errors.ts'

/** What is known of an answer that was an error. */
export interface ApiFailure extends ErrorOptions {
  readonly status?: number | undefined
  readonly body?: unknown
  readonly retryAfterMs?: number | undefined
}

/**
 * The service answered with an error that is none of the engine's own, or not at all. By `code`:
 *
 * - `ERR_API_REFUSED`: it will not do this; asked again it would say the same.
 * - `ERR_API_UNAUTHORIZED`: the access token is not good, or not good for this.
 * - `ERR_API_UNAVAILABLE`: no answer, or none for now, and all attempts are used up.
 * - `ERR_API_UNREADABLE`: an answer that is not of this API.
 */
export class ApiError extends WaitpointError {
  /** Of the answer; `undefined` when there was none. */
  readonly status: number | undefined
  /** Of the answer: the JSON value, or the text when it is none. */
  readonly body: unknown
  /** How long the service asks to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, failure: ApiFailure = {}) {
    const { status, body, retryAfterMs, ...options } = failure
    super(code, message, options)
    this.status = status
    this.body = body
    this.retryAfterMs = retryAfterMs
  }
}

/** Whether asking again may help. */
export function isUnavailable(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'ERR_API_UNAVAILABLE'
}

/** The error for an answer that is not what this API answers. */
export function unreadable(what: string, failure: ApiFailure = {}): ApiError {
  return new ApiError('ERR_API_UNREADABLE', `Cannot read ${what}: the answer is not of this API`, failure)
}
