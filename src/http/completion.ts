import { decodeText, parseJson } from './requests/body.ts'
import { Refusal } from './refusal.ts'

/**
 * The output in the body of the complete endpoint: `{ "output": … }` (specification 4.1), or `{ "data": … }` as the
 * published client sends it; `{}` completes without an output.
 */
export function completionOutput(body: Uint8Array): unknown {
  if (body.length === 0) throw new Refusal(400, 'Request body is empty')
  const value = parseJson(decodeText(body))
  if (!value) throw new Refusal(400, 'Invalid JSON')
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal(400, 'Validation error: the body must be an object with "output" (or "data")')
  }
  return outputMember(value)
}

function outputMember(body: object): unknown {
  const hasOutput = Object.hasOwn(body, 'output')
  const hasData = Object.hasOwn(body, 'data')
  if (hasOutput && hasData) {
    throw new Refusal(400, 'Validation error: give "output" or "data", not both')
  }
  if (!hasOutput && !hasData && Object.keys(body).length > 0) {
    throw new Refusal(400, 'Validation error: the body has neither "output" nor "data"')
  }
  const { output, data } = body as { readonly output?: unknown; readonly data?: unknown }
  return hasOutput ? output : hasData ? data : undefined
}
