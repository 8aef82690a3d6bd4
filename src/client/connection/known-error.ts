import { type ErrorCode, WaitpointError } from '../../api/errors.ts'
import type { Unwrappable } from '../../api/token.ts'
import { ApiError } from './api-error.ts'
import { saidBy } from './refused-answer.ts'

/** The engine's own error if the answer names one; otherwise the given error. */
export function knownError(error: unknown, id = ''): unknown {
  if (!(error instanceof ApiError)) return error
  const said = saidBy(error.body) ?? ''
  const { code } = Object(error.body) as { readonly code?: unknown }
  // All error codes of this library, and no others, have this form.
  if (typeof code === 'string' && /^ERR_[A-Z_]+$/.test(code))
    return new WaitpointError(code as ErrorCode, said || error.message, { cause: error })
  // The engine's messages for unusable input begin like this.
  if (error.status === 400 && said.startsWith('Cannot ')) return new RangeError(said, { cause: error })
  const noun = error.status === 404 ? /^(waitpoint|run|task)\b.*not found/i.exec(said)?.[1] : undefined
  return noun === undefined ? error : notFound(noun.toLowerCase(), id, error)
}

/** The engine's error for a run, a task or a waitpoint that does not exist. A queue of which nothing is known is an empty one. */
export function notFound(noun: string, id: string, cause?: ApiError): WaitpointError {
  const options = cause && { cause }
  if (noun === 'task') {
    const message = `Cannot trigger task "${id}": the service does not know it`
    return new WaitpointError('ERR_TASK_NOT_FOUND', message, options)
  }
  const [code, kind] =
    noun === 'run' ? (['ERR_RUN_NOT_FOUND', noun] as const) : (['ERR_TOKEN_NOT_FOUND', 'token'] as const)
  return new WaitpointError(code, `Cannot find ${kind} "${id}": there is none with this id`, options)
}

/** Such an error as what a wait answers. */
export function refusedInRun(what: string): Unwrappable<never, never> {
  const refused = Promise.reject(notInRun(what))
  // The caller awaits the promise or its `unwrap()`, and ignores the other one.
  refused.catch(() => undefined)
  return Object.assign(refused, { unwrap: () => refused })
}

/** The error of a call that only works inside a task. */
export function notInRun(what: string): WaitpointError {
  return new WaitpointError(
    'ERR_NOT_IN_RUN',
    `Cannot call ${what} here: it can only be used from inside a task.run()`,
  )
}
