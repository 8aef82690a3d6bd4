/** A schema, or a part of one, that is an object. */
export type SchemaPart = Record<string, unknown>

/** A kind of value. `refused`: the keyword is not supported. */
export type Kind =
  | 'schema'
  | 'schemas'
  | 'schema map'
  | 'texts'
  | 'texts map'
  | 'text'
  | 'type'
  | 'list'
  | 'flag'
  | 'number'
  | 'divisor'
  | 'count'
  | 'refused'

export const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  schema: (value) => typeof value === 'boolean' || isPart(value),
  schemas: (value) => Array.isArray(value) && value.length > 0,
  'schema map': isPart,
  texts: isTexts,
  'texts map': (value) => isPart(value) && Object.values(value).every(isTexts),
  text: (value) => typeof value === 'string',
  type: (value: unknown) =>
    (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type as string)),
  list: Array.isArray,
  flag: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  divisor: (value) => typeof value === 'number' && value > 0,
  count: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  refused: () => false,
}

export const NAMES: Readonly<Record<Kind, string>> = {
  schema: 'a schema',
  schemas: 'a list of schemas',
  'schema map': 'an object of schemas',
  texts: 'a list of texts',
  'texts map': 'an object of lists of texts',
  text: 'a text',
  type: 'a type of JSON',
  list: 'a list',
  flag: 'true or false',
  number: 'a number',
  divisor: 'a number above 0',
  count: 'a whole number from 0 on',
  refused: 'supported',
}

const TYPES: ReadonlySet<string> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
])

/** The keywords of JSON Schema (draft 2020-12) with the kinds of their values; others say nothing to a check. */
export const KEYWORDS: Readonly<Record<string, Kind>> = {
  $id: 'refused',
  id: 'refused',
  $anchor: 'refused',
  $dynamicRef: 'refused',
  $recursiveRef: 'refused',
  $ref: 'text',
  $defs: 'schema map',
  definitions: 'schema map',
  type: 'type',
  enum: 'list',
  multipleOf: 'divisor',
  maximum: 'number',
  minimum: 'number',
  exclusiveMaximum: 'number',
  exclusiveMinimum: 'number',
  maxLength: 'count',
  minLength: 'count',
  pattern: 'text',
  format: 'text',
  items: 'schema',
  prefixItems: 'schemas',
  additionalItems: 'refused',
  unevaluatedItems: 'schema',
  contains: 'schema',
  maxContains: 'count',
  minContains: 'count',
  maxItems: 'count',
  minItems: 'count',
  uniqueItems: 'flag',
  properties: 'schema map',
  patternProperties: 'schema map',
  additionalProperties: 'schema',
  unevaluatedProperties: 'schema',
  propertyNames: 'schema',
  maxProperties: 'count',
  minProperties: 'count',
  required: 'texts',
  dependentRequired: 'texts map',
  dependentSchemas: 'schema map',
  dependencies: 'refused',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  not: 'schema',
  if: 'schema',
  then: 'schema',
  else: 'schema',
}

export function isPart(value: unknown): value is SchemaPart {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}
