import type { StoredError } from '../../api/errors.ts'
import { inspect } from 'node:util'
import { findNonJson, measureJson } from '../../primitives/json.ts'
import { WaitpointError } from '../../api/errors.ts'

/**
 * The JSON text of a value, or `undefined` for `undefined` (nothing to store). `subject` says what it is; with a `name`, of
 * what: they are put together for the error only.
 *
 * @throws WaitpointError `ERR_NOT_SERIALIZABLE` with the path of what is not JSON; nothing has changed by then.
 */
export function toJson(value: unknown, subject: string, name?: string): string | undefined {
  if (value === undefined) return undefined
  if (measureJson(value) < 0)
    throw notSerializable(value, name === undefined ? subject : `${subject} "${name}"`)
  return JSON.stringify(value)
}

/** The value of a JSON text that was made by {@link toJson}. */
export function fromJson(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}

/** The error for a value that is not JSON. */
export function notSerializable(value: unknown, subject: string): WaitpointError {
  const fault = findNonJson(value)
  const where = fault === undefined ? '$' : fault.path
  const why = fault === undefined ? 'it is not JSON' : fault.reason
  return new WaitpointError('ERR_NOT_SERIALIZABLE', `Cannot store ${subject}: ${where} is not JSON: ${why}`)
}

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

/** The error that {@link errorToJson} stored. */
export function storedError(text: string): StoredError {
  // Only errorToJson writes these texts.
  return JSON.parse(text) as StoredError
}

/** An error with the name, message, stack and code of the stored one. */
export function errorFromJson(text: string): Error {
  const stored = storedError(text)
  const error = new Error(stored.message)
  error.name = stored.name
  if (stored.stack !== undefined) error.stack = stored.stack
  return stored.code === undefined ? error : Object.assign(error, { code: stored.code })
}
