import { inspect } from 'node:util'
import type { StoredError } from '../../api/errors.ts'

/** A frame of this package, where it is installed, or of the context that it calls a task in. */
const OWN_FRAME = /\n +at (?:.*[\\/]node_modules[\\/]waitpoint[\\/]|AsyncLocalStorage\.run).*/g

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
    ...(typeof thrown.stack === 'string' ? { stack: ofTask(thrown.stack) } : {}),
    ...(typeof code === 'string' ? { code } : {}),
  }
}

/** The stack without the frames of the engine, unless there are no others. */
function ofTask(stack: string): string {
  const own = stack.replace(OWN_FRAME, '')
  return own.includes('\n    at ') ? own : stack
}

function describeThrown(thrown: unknown): string {
  return typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 2, breakLength: Infinity })
}
