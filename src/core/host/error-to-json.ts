import { inspect } from 'node:util'
import { type StoredError, WaitpointError } from '../../api/errors.ts'

/** A frame of this package, where it is installed, or of the context that it calls a task in. */
const OWN_FRAME = /\n +at (?:.*[\\/]node_modules[\\/]waitpoint[\\/]|AsyncLocalStorage\.run).*/g

/** A frame of other code than Node's own. */
const OTHER_FRAME = /\n +at (?!.*\bnode:)/

const UNSHOWABLE = 'a value that cannot be shown was thrown'

/** The JSON text of anything that was thrown. Never throws itself. */
export function errorToJson(thrown: unknown): string {
  try {
    return JSON.stringify(describeError(thrown))
  } catch {
    return JSON.stringify({ name: 'Error', message: UNSHOWABLE })
  }
}

function describeError(thrown: unknown): StoredError {
  if (!(thrown instanceof Error)) return { name: 'Error', message: describeThrown(thrown) }
  const code: unknown = 'code' in thrown ? thrown.code : undefined
  return {
    name: thrown.name,
    message: thrown.message,
    ...(typeof thrown.stack === 'string' ? { stack: stackOfTask(thrown) } : {}),
    ...(typeof code === 'string' ? { code } : {}),
  }
}

/** The stack without the frames of the engine. They stay where there are no others and the error is none of its own, but a fault. */
export function stackOfTask(thrown: Error): string {
  const { stack = '' } = thrown
  const own = stack.replace(OWN_FRAME, '')
  if (OTHER_FRAME.test(own)) return own
  return thrown instanceof WaitpointError ? own.replace(/\n +at .*/g, '') : stack
}

function describeThrown(thrown: unknown): string {
  return typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 2, breakLength: Infinity })
}
