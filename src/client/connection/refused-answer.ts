import type { ErrorCode } from '../../api/errors.ts'
import { RATE_RESET } from '../../hosted/headers.ts'
import { ApiError } from './api-error.ts'

/** The error for an answer that is not a success. A `retry-after` date counts from `now`. */
export async function refusedAnswer(response: Response, what: string, now: number): Promise<ApiError> {
  const { status, headers } = response
  // If the body breaks off, the status remains.
  const body = readJson(await response.text().catch(() => ''))
  const said = saidBy(body)
  const message = `Cannot ${what}: the service answered ${status}${said === undefined ? '' : `, "${said}"`}`
  return new ApiError(codeOf(status), message, { status, body, retryAfterMs: retryAfterMs(headers, now) })
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'ERR_API_UNAUTHORIZED'
  return status === 408 || status === 429 || status >= 500 ? 'ERR_API_UNAVAILABLE' : 'ERR_API_REFUSED'
}

/** The JSON value of a text, or the text if it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The sentence in the body of an error: `{ "error": "…" }`, `{ "error": { "message": "…" } }`, or the whole body if it
 * is text.
 */
export function saidBy(body: unknown): string | undefined {
  if (typeof body === 'string') return body === '' ? undefined : body.slice(0, 200)
  const { error, message } = Object(body) as { readonly error?: unknown; readonly message?: unknown }
  if (typeof error === 'string') return error
  if (typeof message === 'string') return message
  return error === undefined || error === null ? undefined : saidBy(error)
}

/** The milliseconds until `retry-after` (seconds or a date) or `x-ratelimit-reset` (an instant). */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')
  if (after !== null)
    return atLeastZero(/^\d+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - now)
  const reset = headers.get(RATE_RESET)
  return reset === null ? undefined : atLeastZero(Number(reset) - now)
}

function atLeastZero(ms: number): number | undefined {
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
