import { WaitpointError } from '../../api/errors.ts'
import { findNonJson } from '../../primitives/json.ts'

/**
 * The JSON text of a value, or `undefined` for `undefined`.
 *
 * @throws WaitpointError `ERR_NOT_SERIALIZABLE` with the path of the part that is not JSON. No request was sent.
 */
export function jsonText(value: unknown, subject: string): string | undefined {
  if (value === undefined) return undefined
  const fault = findNonJson(value)
  if (fault === undefined) return JSON.stringify(value)
  const message = `Cannot send ${subject}: ${fault.path} is not JSON: ${fault.reason}`
  throw new WaitpointError('ERR_NOT_SERIALIZABLE', message)
}
