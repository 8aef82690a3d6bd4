import { bufferToFormData } from 'hono/utils/buffer'
import { decodeText, parseJson } from '../requests/body.ts'
import { Refusal } from '../refusal.ts'
const URL_ENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'

/**
 * The output in the body of a callback (specification 2.3): JSON as it is; form fields as an object, a repeated one as
 * an array; other text as a string; nothing at all as `{}`.
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

/** `curl -d '{…}'` says it is a form; an encoded one cannot begin like that. */
function formOutput(text: string): unknown {
  const fields = (): unknown => fieldsOf(new URLSearchParams(text))
  return /^\s*[{[]/.test(text) ? jsonOr(text, fields) : fields()
}

function isJsonType(mediaType: string): boolean {
  return /^(?:application|text)\/(?:[^/]+\+)?json$/.test(mediaType)
}

/** The JSON value of a text that nobody said is JSON. */
function jsonOr(text: string, otherwise: () => unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise()
  }
}

async function readMultipart(body: Uint8Array, contentType: string): Promise<FormData> {
  try {
    // A copy of its own: the body may be a part of a larger buffer.
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
  // Unlike an assignment, this makes `__proto__` a field like any other.
  return Object.fromEntries(Array.from(fields, ([name, values]) => [name, oneOrAll(values)]))
}

function oneOrAll(values: readonly string[]): string | readonly string[] | undefined {
  return values.length === 1 ? values[0] : values
}

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
