/** Of an answer that is JSON already. */
export const JSON_TYPE = { 'content-type': 'application/json' }

/** A parameter, or a text in quotes that belongs to none. */
const PARAMETER = /"(?:\\.|[^"\\])*"?|;\s*([^\s=;"]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"?|([^\s";,]*))/gs

type ContentType = string | null | undefined

/** The media type that a content type names, in small letters; empty for none. */
export function mediaTypeOf(contentType: ContentType): string {
  return /^[^;,\s]*/.exec(contentType ?? '')?.[0].toLowerCase() ?? ''
}

/** The first parameter of a content type with this name. What stands in the quotes of another one is none. */
export function parameterOf(contentType: ContentType, name: string): string | undefined {
  for (const [, parameter, quoted, plain] of (contentType ?? '').matchAll(PARAMETER)) {
    if (parameter?.toLowerCase() === name) return quoted?.replace(/\\(.)/gs, '$1') ?? plain
  }
  return undefined
}
