import type { Turns } from '../../core/inside.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, parseJson, parseLargeJson, readBody } from './body.ts'
import { decodeText } from './text.ts'

/** The members of a JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Reads the JSON object in the body of a request. With `turns`, for large bodies: other requests have theirs before its
 * parts are counted, before it is parsed, and before anything is done with it.
 *
 * @throws Refusal 413 for one that is too large; 400 for none, and for what is no JSON object.
 */
export async function readJsonObject(
  request: Request,
  limitBytes: number,
  turns?: Turns,
): Promise<JsonObject> {
  checkAnnouncedLength(request, limitBytes)
  const body = await readBody(request, limitBytes)
  if (body.length === 0) throw new Refusal(400, 'Request body is empty')
  await turns?.next(body.length)
  const text = decodeText(body, request.headers.get('content-type'))
  const value = turns === undefined ? parseJson(text) : await parseLargeJson(text, turns)
  await turns?.next(body.length)
  if (!value) throw new Refusal(400, 'Invalid JSON')
  return requireJsonObject(value, 'the body')
}

/** @throws Refusal 400 unless the value is a JSON object. */
export function requireJsonObject(value: unknown, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  throw new Refusal(400, `Validation error: ${what} must be an object`)
}
