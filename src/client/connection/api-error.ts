import { type ErrorCode, WaitpointError } from '../../api/errors.ts'

/** The parts of an answer that was an error. */
export interface ApiFailure extends ErrorOptions {
  readonly status?: number | undefined
  readonly body?: unknown
  readonly retryAfterMs?: number | undefined
}

/**
 * The service failed to answer, or answered with an error that the engine does not have. By `code`:
 *
 * - `ERR_API_REFUSED`: the service refuses the request; repeating it will not help.
 * - `ERR_API_UNAUTHORIZED`: the access token is invalid, or does not allow the request.
 * - `ERR_API_UNAVAILABLE`: there was no answer, or none for now, and all attempts are used up.
 * - `ERR_API_UNREADABLE`: the answer does not belong to this API.
 *
 * See docs/errors.md.
 */
export class ApiError extends WaitpointError {
  override name: string = 'ApiError'

  /** The HTTP status of the answer; `undefined` without an answer. */
  readonly status: number | undefined
  /** The body of the answer: its JSON value, or its text if it is not JSON. */
  readonly body: unknown
  /** The pause that the service asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, failure: ApiFailure = {}) {
    const { status, body, retryAfterMs, ...options } = failure
    super(code, message, options)
    this.status = status
    this.body = body
    this.retryAfterMs = retryAfterMs
  }
}

/** The error that says that repeating the request may help. */
export function unavailable(message: string, failure?: ApiFailure): ApiError {
  return new ApiError('ERR_API_UNAVAILABLE', message, failure)
}

/** Whether repeating the request may help. */
export function isUnavailable(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'ERR_API_UNAVAILABLE'
}

/** The error for an answer that does not belong to this API. */
export function unreadable(what: string, failure: ApiFailure = {}): ApiError {
  return new ApiError('ERR_API_UNREADABLE', `Cannot read ${what}: the answer is not of this API`, failure)
}
