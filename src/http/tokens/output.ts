import { bufferToFormData } from 'hono/utils/buffer'
import { decodeText, parseJson, refuseManyContainers } from '../requests/body.ts'
import { Refusal } from '../refusal.ts'
const URL_ENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'

/**
 * The output in the body of a callback. JSON is taken as it is; form fields become an object, a repeated field an
 * array; other text becomes a string; an empty body becomes `{}`. See docs/waitpoints.md.
 */
export async function callbackOutput(body: Uint8Array, contentType: string | undefined): Promise<unknown> {
  if (body.length === 0) return {}
  const [mediaType = ''] = (contentType ?? '').toLowerCase().split(/[;,\s]/)
  if (mediaType === MULTIPART) return fieldsOf(await readMultipart(body, contentType ?? ''))
  const text = decodeText(body)
  if (isJsonType(mediaType)) return parseJson(text)
  if (mediaType === URL_ENCODED) return formOutput(text)
  return mediaType === '' ? jsonOr(text, () => text) : text
}

/** `curl -d '{…}'` declares a form. Encoded form fields cannot begin with `{`. */
function formOutput(text: string): unknown {
  const fields = (): unknown => fieldsOf(new URLSearchParams(text))
  return /^\s*[{[]/.test(text) ? jsonOr(text, fields) : fields()
}

function isJsonType(mediaType: string): boolean {
  return /^(?:application|text)\/(?:[^/]+\+)?json$/.test(mediaType)
}

/** The JSON value of a text that was not declared as JSON, or else a fallback. */
function jsonOr(text: string, otherwise: () => unknown): unknown {
  refuseManyContainers(text)
  try {
    return JSON.parse(text)
  } catch {
    return otherwise()
  }
}

async function readMultipart(body: Uint8Array, contentType: string): Promise<FormData> {
  try {
    // A copy, because the body may be a view into a larger buffer.
    return await bufferToFormData(new Uint8Array(body).buffer, contentType)
  } catch (cause) {
    throw new Refusal(400, `Cannot read the request body: it is not ${MULTIPART}`, { cause })
  }
}

function fieldsOf(entries: Iterable<readonly [string, unknown]>): Readonly<Record<string, unknown>> {
  const fields = new Map<string, string[]>()
  for (const [name, value] of entries) {
    if (typeof value !== 'string') {
      throw new Refusal(400, `Cannot take the file in field "${name}": only text can be an output`)
    }
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else values.push(value)
  }
  // Unlike an assignment, this makes `__proto__` an ordinary field.
  return Object.fromEntries(Array.from(fields, ([name, values]) => [name, oneOrAll(values)]))
}

function oneOrAll(values: readonly string[]): string | readonly string[] | undefined {
  return values.length === 1 ? values[0] : values
}

/**
 * The output in the body of the complete endpoint: `{ "output": … }`, or `{ "data": … }` from the published client.
 * `{}` completes the token without an output. See docs/http-api.md.
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
