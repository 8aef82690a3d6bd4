import type { Turns } from '../../core/inside.ts'
import { boundJson } from '../requests/bounded-parts.ts'
import { parseLargeJson } from '../requests/body.ts'
import { mediaTypeOf } from '../requests/content-type.ts'
import { type FormField, multipartFields, urlEncodedFields } from '../requests/form.ts'
import { decodeText } from '../requests/text.ts'
import { Refusal } from '../refusal.ts'

const URL_ENCODED = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'
const EQUALS = '='.charCodeAt(0)

/**
 * The output in the body of a callback. JSON is taken as it is; form fields become an object, a repeated field an
 * array; other text becomes a string; an empty body becomes `{}`. See docs/waitpoints.md.
 */
export async function callbackOutput(
  body: Uint8Array,
  contentType: string | undefined,
  turns: Turns,
): Promise<unknown> {
  if (body.length === 0) return {}
  const mediaType = mediaTypeOf(contentType)
  if (mediaType === MULTIPART) return objectOf(multipartFields(body, contentType ?? ''))
  if (mediaType === URL_ENCODED) return formOutput(body, contentType, turns)
  const text = decodeText(body, contentType)
  if (isJsonType(mediaType)) return parseLargeJson(text, turns)
  return mediaType === '' ? jsonOr(text, turns, () => text) : text
}

/** `curl -d` declares all that it sends a form. Encoded fields have a `=`, and cannot begin with a bracket or a quote. */
function formOutput(body: Uint8Array, contentType: string | undefined, turns: Turns): unknown {
  const fields = (): unknown => objectOf(urlEncodedFields(body, contentType))
  const isForm = body.includes(EQUALS)
  if (isForm && !/^\s*["{[]/.test(String.fromCharCode(...body.subarray(0, 99)))) return fields()
  const text = decodeText(body, contentType)
  return jsonOr(text, turns, isForm ? fields : () => text)
}

function isJsonType(mediaType: string): boolean {
  return /^(?:application|text)\/(?:[^/]+\+)?json$/.test(mediaType)
}

/** The JSON value of a text that was not declared as JSON, or else a fallback. */
async function jsonOr(text: string, turns: Turns, otherwise: () => unknown): Promise<unknown> {
  boundJson(text)
  await turns.next(text.length)
  try {
    return JSON.parse(text)
  } catch {
    return otherwise()
  }
}

function objectOf(entries: readonly FormField[]): Readonly<Record<string, unknown>> {
  const fields = new Map<string, string[]>()
  for (const [name, value] of entries) {
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

/** What the body of the complete endpoint says. */
export interface Completion {
  readonly output: unknown
  /** Who answers, not checked yet. */
  readonly by: unknown
}

/**
 * The body of the complete endpoint: `{ "output": … }`, or `{ "data": … }` from the published client, and `by`.
 * `{}` completes the token without an output. See docs/http-api.md.
 */
export async function readCompletion(
  body: Uint8Array,
  contentType: string | undefined,
  turns: Turns,
): Promise<Completion> {
  if (body.length === 0) throw new Refusal(400, 'Request body is empty')
  const value = await parseLargeJson(decodeText(body, contentType), turns)
  if (!value) throw new Refusal(400, 'Invalid JSON')
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal(400, 'Validation error: the body must be an object with "output" (or "data")')
  }
  return {
    output: outputMember(value),
    by: Object.hasOwn(value, 'by') ? (value as Completion).by : undefined,
  }
}

function outputMember(body: object): unknown {
  const hasOutput = Object.hasOwn(body, 'output')
  const hasData = Object.hasOwn(body, 'data')
  if (hasOutput && hasData) {
    throw new Refusal(400, 'Validation error: give "output" or "data", not both')
  }
  if (!hasOutput && !hasData && Object.keys(body).some((name) => name !== 'by')) {
    throw new Refusal(400, 'Validation error: the body has neither "output" nor "data"')
  }
  const { output, data } = body as { readonly output?: unknown; readonly data?: unknown }
  return hasOutput ? output : hasData ? data : undefined
}
