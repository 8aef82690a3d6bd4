import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { type ErrorCode, OutputInvalidError, WaitpointError } from '../api/errors.ts'

interface RefusalOptions extends ErrorOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Members of the body besides `error`. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** Ends a request with an error. The message becomes the `error` of the answer. */
export class Refusal extends Error {
  readonly status: ContentfulStatusCode
  readonly headers: Readonly<Record<string, string>>
  readonly #details: Readonly<Record<string, unknown>>

  constructor(status: ContentfulStatusCode, message: string, options: RefusalOptions = {}) {
    const { headers = {}, details = {}, ...rest } = options
    super(message, rest)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
    this.#details = details
  }

  get body(): Readonly<Record<string, unknown>> {
    return { error: this.message, ...this.#details }
  }
}

/** The request can be read, and cannot be done: the code and the message say why. */
const UNPROCESSABLE: ReadonlySet<ErrorCode> = new Set([
  'ERR_CANNOT_ADD_TAGS',
  'ERR_CANNOT_CONTINUE',
  'ERR_CANNOT_RESCHEDULE',
  'ERR_CANNOT_RESET_KEY',
  'ERR_CANNOT_SCHEDULE',
  'ERR_CANNOT_SET_QUEUE',
  'ERR_DEBOUNCE_UNSUPPORTED',
  'ERR_PAYLOAD_INVALID',
])

/** The answer to a thrown value. A fault of the engine is answered without its details. */
export function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof OutputInvalidError) {
    const { code, message, issues } = thrown
    return new Refusal(422, message, { cause: thrown, details: { code, issues } })
  }
  const { code, message } = thrown instanceof WaitpointError ? thrown : { code: undefined, message: '' }
  if (code !== undefined && UNPROCESSABLE.has(code))
    return new Refusal(422, message, { cause: thrown, details: { code } })
  switch (code) {
    case 'ERR_TOKEN_NOT_FOUND':
      return new Refusal(404, 'Waitpoint not found', { cause: thrown })
    case 'ERR_RUN_NOT_FOUND':
      return new Refusal(404, 'Run not found', { cause: thrown })
    case 'ERR_TASK_NOT_FOUND':
      return new Refusal(404, 'Task not found', { cause: thrown })
    case 'ERR_SCHEDULE_NOT_FOUND':
      return new Refusal(404, 'Schedule not found', { cause: thrown })
    case 'ERR_NOT_APPROVER':
      return new Refusal(403, message, { cause: thrown, details: { code } })
    case 'ERR_NOT_SERIALIZABLE':
      return new Refusal(400, message, { cause: thrown })
    case 'ERR_ENGINE_CLOSED':
      return new Refusal(503, message, { cause: thrown })
    default:
      return new Refusal(500, 'Internal Server Error', { cause: thrown })
  }
}
