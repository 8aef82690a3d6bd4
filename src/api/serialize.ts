import type { StoredError } from './errors.ts'
import { findNonJson, measureJson } from '../primitives/json.ts'
import { WaitpointError } from './errors.ts'

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

/** The error that `errorToJson` stored. */
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
