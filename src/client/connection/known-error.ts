import { type ErrorCode, WaitpointError } from '../../api/errors.ts'
import { ApiError } from './api-error.ts'
import { saidBy } from './refused-answer.ts'

/** The object of a request. */
export interface RequestSubject {
  readonly kind: 'token' | 'run' | 'task' | 'queue'
  readonly id: string
}

/** Something that can be missing. A queue of which nothing is known is an empty one. */
interface Missing extends RequestSubject {
  readonly kind: Exclude<RequestSubject['kind'], 'queue'>
}

const MISSING: Readonly<Record<string, Missing['kind']>> = {
  waitpoint: 'token',
  run: 'run',
  task: 'task',
}

/** The engine's own error if the answer names one; otherwise the given error. */
export function knownError(error: unknown, subject: RequestSubject): unknown {
  if (!(error instanceof ApiError)) return error
  const said = saidBy(error.body) ?? ''
  const { code } = Object(error.body) as { readonly code?: unknown }
  // All error codes of this library, and no others, have this form.
  if (typeof code === 'string' && /^ERR_[A-Z_]+$/.test(code))
    return new WaitpointError(code as ErrorCode, said || error.message, { cause: error })
  if (error.status === 422 && subject.kind === 'task' && said.startsWith('Cannot trigger task'))
    return new WaitpointError('ERR_PAYLOAD_INVALID', said, { cause: error })
  // The engine's messages for unusable input begin like this.
  if (error.status === 400 && said.startsWith('Cannot ')) return new RangeError(said, { cause: error })
  const noun = error.status === 404 ? /^(waitpoint|run|task)\b.*not found/i.exec(said)?.[1] : undefined
  const kind = noun === undefined ? undefined : MISSING[noun.toLowerCase()]
  return kind === undefined ? error : notFound({ kind, id: subject.id }, error)
}

/** The engine's error for an object that does not exist. */
export function notFound({ kind, id }: Missing, cause?: ApiError): WaitpointError {
  const options = cause === undefined ? undefined : { cause }
  if (kind === 'task')
    return new WaitpointError(
      'ERR_TASK_NOT_FOUND',
      `Cannot trigger task "${id}": the service does not know it`,
      options,
    )
  const code = kind === 'run' ? 'ERR_RUN_NOT_FOUND' : 'ERR_TOKEN_NOT_FOUND'
  return new WaitpointError(code, `Cannot find ${kind} "${id}": there is none with this id`, options)
}

/** The error of a call that only works inside a task. */
export function notInRun(what: string): WaitpointError {
  return new WaitpointError(
    'ERR_NOT_IN_RUN',
    `Cannot call ${what} here: it can only be used from inside a task.run()`,
  )
}
