import { RATE_RESET } from '../../hosted/headers.ts'
import { plainClock } from '../../clock/plain.ts'

/** The headers of an answer of the hosted service. */
type Headers = Readonly<Record<string, string | null | undefined>>

/** The content of an answer of the hosted service. */
type Fields = Readonly<Record<string, unknown>>

/**
 * The errors of the hosted service's API and of its other services, so that a file which asks for them loads. No call of this
 * module throws one: errors are those of docs/errors.md.
 */
export class ServiceApiError extends Error {
  readonly status: number | undefined
  readonly headers: Headers | undefined
  readonly error: object | undefined
  readonly body: object | undefined
  readonly code: string | null | undefined
  readonly param: string | null | undefined
  readonly type: string | undefined

  // eslint-disable-next-line max-params -- as published: applications construct it in their tests
  constructor(
    status: number | undefined,
    error: object | undefined,
    message: string | undefined,
    headers: Headers | undefined,
    body?: object,
  ) {
    super(messageOf(status, error, message))
    this.name = 'TriggerApiError'
    this.status = status
    this.headers = headers
    this.error = error
    this.body = body
    const { code, param, type } = (error ?? body ?? {}) as Partial<ServiceApiError>
    this.code = code
    this.param = param
    this.type = type
  }
}

/** The message of the answer, or what is known of it. */
function messageOf(
  status: number | undefined,
  error: object | string | undefined,
  message: string | undefined,
): string {
  const said = typeof error === 'object' ? ((error as Fields)['message'] ?? error) : error
  if (said !== undefined && said !== '') return typeof said === 'string' ? said : JSON.stringify(said)
  const known = [status, message].filter(Boolean).join(' ')
  if (known === '') return '(no status code or body)'
  return message ? known : `${known} status code (no body)`
}

export class BadRequestError extends ServiceApiError {
  override readonly status = 400
}

export class AuthenticationError extends ServiceApiError {
  override readonly status = 401
}

export class PermissionDeniedError extends ServiceApiError {
  override readonly status = 403
}

export class NotFoundError extends ServiceApiError {
  override readonly status = 404
}

export class ConflictError extends ServiceApiError {
  override readonly status = 409
}

export class UnprocessableEntityError extends ServiceApiError {
  override readonly status = 422
}

export class RateLimitError extends ServiceApiError {
  override readonly status = 429

  /** How long until a request is allowed again, if the answer said so. */
  get millisecondsUntilReset(): number | undefined {
    const resetAt = Number.parseInt(this.headers?.[RATE_RESET] ?? '', 10)
    return Number.isNaN(resetAt) ? undefined : Math.max(resetAt - plainClock().now(), 0)
  }
}

export class InternalServerError extends ServiceApiError {}

export class OIDCTokenError extends ServiceApiError {
  override readonly cause?: ServiceApiError

  constructor(code: string, message: string, cause?: ServiceApiError) {
    const { status, param, type, headers, body } = cause ?? {}
    super(status, { code, message, param, type }, undefined, headers, body)
    this.name = 'OIDCTokenError'
    if (cause !== undefined) this.cause = cause
  }
}

export class BatchTriggerError extends Error {
  readonly phase: 'offload' | 'create' | 'stream'
  readonly batchId?: string
  readonly itemCount: number
  readonly isRateLimited: boolean
  readonly retryAfterMs?: number
  readonly apiError?: ServiceApiError

  constructor(
    message: string,
    options: {
      cause?: unknown
      phase: 'offload' | 'create' | 'stream'
      batchId?: string
      itemCount: number
    },
  ) {
    const { cause, phase, batchId, itemCount } = options
    super(cause instanceof Error ? `${message}: ${cause.message}` : message, { cause })
    this.name = 'BatchTriggerError'
    this.phase = phase
    if (batchId !== undefined) this.batchId = batchId
    this.itemCount = itemCount
    this.isRateLimited = cause instanceof ServiceApiError && cause.status === 429
    if (cause instanceof ServiceApiError) this.apiError = cause
    const retryAfterMs = cause instanceof RateLimitError ? cause.millisecondsUntilReset : undefined
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
  }
}

/** Thrown by a task that has run out of memory. Here it is an error as any other: there is no larger machine. */
export class OutOfMemoryError extends Error {
  override readonly name = 'OutOfMemoryError'

  constructor() {
    super('MANUAL_OOM_KILL_ERROR')
  }
}

export class ChatChunkTooLargeError extends Error {
  override readonly name = 'ChatChunkTooLargeError'
  readonly chunkSize: number
  readonly maxSize: number
  readonly chunkType?: string | undefined

  constructor(chunkSize: number, maxSize: number, chunkType?: string) {
    super(`A chunk of ${chunkSize} bytes is larger than the ${maxSize} bytes that are allowed`)
    this.chunkSize = chunkSize
    this.maxSize = maxSize
    this.chunkType = chunkType
  }
}

export function isChatChunkTooLargeError(error: unknown): error is ChatChunkTooLargeError {
  return error instanceof Error && error.name === 'ChatChunkTooLargeError'
}

export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

export class WebhookWaiterCancelledError extends Error {
  override readonly name = 'WebhookWaiterCancelledError'

  constructor(message = 'The webhook waiter was cancelled') {
    super(message)
  }
}

export class WebhookWaiterLimitError extends Error {
  override readonly name = 'WebhookWaiterLimitError'
  readonly reason: WebhookWaiterLimitReason

  constructor(reason: WebhookWaiterLimitReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Which limit a waiter has met. */
export type WebhookWaiterLimitReason =
  'environment_limit' | 'endpoint_limit' | 'shape_limit' | 'timeout_too_long'

export class WebhookEndpointNotFoundError extends Error {
  override readonly name = 'WebhookEndpointNotFoundError'
}

export class WebhookFilterError extends Error {
  override readonly name = 'WebhookFilterError'
}

export class WebhookIndexingError extends Error {
  override readonly name = 'WebhookIndexingError'
  readonly collisions: readonly object[]
  readonly problems: readonly string[]

  constructor(collisions: readonly object[], problems: readonly string[] = []) {
    super(['The webhooks cannot be indexed', ...problems].join('\n'))
    this.collisions = collisions
    this.problems = problems
  }
}
