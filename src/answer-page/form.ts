/** A form that asks for one value, or the reason why there is none: a text box for JSON then takes the answer. */
export type FormModel =
  | { readonly kind: 'fields'; readonly root: AnswerField }
  | { readonly kind: 'json'; readonly because: string; readonly schema?: unknown }

/** What a form is made of: the JSON Schema of the answer, or the texts of which one is the answer. */
export interface FormQuestion {
  readonly schema?: unknown
  readonly choices?: readonly string[]
}

interface Asked {
  /** The property of the object around it; empty at the root. */
  readonly key: string
  /** Empty at the root of a schema without a title. */
  readonly label: string
  readonly description?: string
  /** Left blank it is an error. What is not required is absent then. */
  readonly isRequired: boolean
  /** Left blank it is `null`, if it is required. */
  readonly isNullable: boolean
  /** A blank one is no error if all others of its row or group are blank too. */
  readonly isLoose: boolean
  readonly default?: unknown
}

/** A text. `long` may have several lines. */
export interface TextField extends Asked {
  readonly kind: 'text'
  readonly format: 'short' | 'long' | 'email' | 'url' | 'date' | 'date-time' | 'time'
  readonly minLength?: number
  readonly maxLength?: number
  /** As the attribute of an input takes it. */
  readonly pattern?: string
}

export interface NumberField extends Asked {
  readonly kind: 'number'
  readonly isInteger: boolean
  readonly min?: number
  readonly max?: number
  /** A number has to be more than this. */
  readonly above?: number
  /** A number has to be less than this. */
  readonly below?: number
  readonly multipleOf?: number
}

/** A checkbox, which cannot be blank, or the choice between yes and no. */
export interface BooleanField extends Asked {
  readonly kind: 'boolean'
  readonly isCheckbox: boolean
}

/** One of several values. A form sends their numbers. */
export interface AnswerChoice {
  readonly value: string | number | boolean
  /** None for a boolean. */
  readonly label?: string
  readonly description?: string
}

export interface ChoiceField extends Asked {
  readonly kind: 'choice'
  readonly options: readonly AnswerChoice[]
}

/** Any of several values: an array of them. */
export interface ChecksField extends Asked {
  readonly kind: 'checks'
  readonly options: readonly AnswerChoice[]
}

/** An object. */
export interface GroupField extends Asked {
  readonly kind: 'group'
  readonly fields: readonly AnswerField[]
}

/** An array of objects. */
export interface RowsField extends Asked {
  readonly kind: 'rows'
  readonly fields: readonly AnswerField[]
  readonly minRows: number
  readonly maxRows: number
}

export type AnswerField =
  TextField | NumberField | BooleanField | ChoiceField | ChecksField | GroupField | RowsField

/** A schema with more fields than this has no form. */
export const MOST_FIELDS = 100
/** A form has no more rows of one kind than this. */
export const MOST_ROWS = 50
/** All choices of a form together; those of rows count once for each row. */
const MOST_CHOICES = 10_000
/** References and unions that lead to one another. */
const MOST_STEPS = 8
const MOST_OF_A_LABEL = 200
const MOST_OF_A_DESCRIPTION = 1_000
const MOST_OF_A_PATTERN = 1_000
/** Longer texts, and those without an end, get several lines. */
const MOST_OF_A_LINE = 200
/** A form begins with no text that is longer. */
export const MOST_OF_A_DEFAULT = 20_000

/** The form for a question. Its work is bounded, whatever the schema is, and no pattern of the schema is executed. */
export function formOf({ schema, choices }: FormQuestion): FormModel {
  if (schema === undefined && choices === undefined)
    return { kind: 'json', because: 'the question has no schema' }
  try {
    const asked = choices === undefined ? schema : { enum: choices }
    return { kind: 'fields', root: new SchemaReader(asked).root() }
  } catch (error) {
    if (error instanceof BeyondForm) return { kind: 'json', because: error.message, schema }
    throw error
  }
}

/** `orderId` as `Order id`. A text of several words stays as it is. */
export function readable(text: string): string {
  if (text.length > MOST_OF_A_LABEL || !/^[a-zA-Z][a-zA-Z0-9_-]*$/.test(text)) return cut(text)
  const words = text
    .replace(
      /([a-z0-9])([A-Z])(?=[a-z])/g,
      (_, end: string, start: string) => `${end} ${start.toLowerCase()}`,
    )
    .replace(/[_-]+/g, ' ')
    .trim()
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

/** A text of which no more than the beginning is shown. */
export function cut(text: string, most: number = MOST_OF_A_LABEL): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

class BeyondForm extends Error {}

type Schema = Readonly<Record<string | symbol, unknown>>

/** Where a schema stands: 0 is the root, 1 a property of it, 2 a property of a row or of a group. */
interface Place {
  readonly key: string
  readonly level: 0 | 1 | 2
  readonly isRequired: boolean
  readonly isLoose: boolean
  readonly isInRow: boolean
}

/** Keywords that can refuse an answer and that no control shows. */
const BEYOND = [
  ...['allOf', 'not', 'if', 'dependentSchemas', 'dependentRequired', 'dependencies', '$dynamicRef'],
  ...['prefixItems', 'additionalItems', 'contains', 'patternProperties', 'propertyNames'],
  ...['minProperties', 'maxProperties', 'contentEncoding', 'contentMediaType', 'contentSchema'],
]
/** Keywords that cannot stand beside a union or a reference: they would be lost. */
const ALONE = [
  ...['enum', 'const', 'properties', 'required', 'items', 'minItems', 'maxItems', 'pattern', 'format'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]
const NOTES = ['title', 'description', 'default']

class SchemaReader {
  readonly #schema: unknown
  #fields = 0
  #choices = 0

  constructor(schema: unknown) {
    this.#schema = schema
  }

  root(): AnswerField {
    const place = { key: '', level: 0, isRequired: true, isLoose: false, isInRow: false } as const
    return this.#field(this.#schema, place)
  }

  #field(given: unknown, place: Place): AnswerField {
    if (++this.#fields > MOST_FIELDS + 1) throw new BeyondForm(`it has more than ${MOST_FIELDS} fields`)
    const { schema, isNullable } = this.#plain(given, place)
    const asked = askedOf(schema, place, isNullable)
    const options = choicesOf(schema)
    if (options !== undefined) return this.#choice(asked, options, place)
    switch (schema['type']) {
      case 'string':
        return textOf(schema, asked)
      case 'number':
      case 'integer':
        return numberOf(schema, asked)
      case 'boolean':
        return booleanOf(asked, place)
      case 'array':
        return this.#array(schema, { asked, place })
      case 'object':
        return this.#group(schema, { asked, place })
      default:
        throw beyond(place, `is ${typeOf(schema)}`)
    }
  }

  #choice(asked: Asked, options: readonly AnswerChoice[], place: Place): ChoiceField {
    this.#count(options, place)
    // What is fixed anyway is filled in; but no consent is.
    const [only] = options
    const isNeeded = asked.isRequired && !asked.isNullable && !asked.isLoose
    const isFixed = options.length === 1 && typeof only?.value !== 'boolean' && isNeeded
    return { ...asked, kind: 'choice', options, ...(isFixed && only && { default: only.value }) }
  }

  #array(schema: Schema, { asked, place }: { readonly asked: Asked; readonly place: Place }): AnswerField {
    const items = this.#plain(schema['items'], place)
    if (items.isNullable) throw beyond(place, 'is an array with null in it')
    const [minRows, maxRows] = [numeric(schema['minItems']) ?? 0, numeric(schema['maxItems'])]
    const options = choicesOf(items.schema)
    if (options !== undefined) {
      this.#count(options, place)
      return { ...asked, kind: 'checks', options }
    }
    if (items.schema['type'] !== 'object') throw beyond(place, `is an array of ${typeOf(items.schema)}`)
    if (place.level === 2) throw beyond(place, 'has rows inside of a group or of rows')
    if (minRows > MOST_ROWS) throw beyond(place, `is an array of at least ${minRows} objects`)
    const fields = this.#properties(items.schema, { ...place, level: 2, isLoose: true, isInRow: true })
    if (fields.length === 0) throw beyond(place, 'is an array of objects without properties')
    return { ...asked, kind: 'rows', fields, minRows, maxRows: Math.min(maxRows ?? MOST_ROWS, MOST_ROWS) }
  }

  #group(schema: Schema, { asked, place }: { readonly asked: Asked; readonly place: Place }): GroupField {
    if (place.level === 2) throw beyond(place, 'is an object inside of a group or of rows')
    const isLoose = place.isLoose || !asked.isRequired || asked.isNullable
    const level = place.level === 0 ? 1 : 2
    return { ...asked, kind: 'group', fields: this.#properties(schema, { ...place, level, isLoose }) }
  }

  #properties(schema: Schema, place: Place): AnswerField[] {
    const { properties, required = [], additionalProperties } = schema
    if (!isRecord(properties)) throw beyond(place, 'is an object with any properties')
    const names = new Set<unknown>(Array.isArray(required) ? required : [])
    for (const name of names)
      if (typeof name !== 'string' || !Object.hasOwn(properties, name))
        throw beyond(place, 'has a required property without a schema')
    const keys = Object.keys(properties)
    if (keys.length > MOST_FIELDS) throw new BeyondForm(`it has more than ${MOST_FIELDS} fields`)
    if (keys.length === 0 && isRecord(additionalProperties))
      throw beyond(place, 'is an object with any properties')
    return keys.map((key) => this.#field(properties[key], { ...place, key, isRequired: names.has(key) }))
  }

  #count(options: readonly AnswerChoice[], { isInRow }: Place): void {
    this.#choices += options.length * (isInRow ? MOST_ROWS : 1)
    if (this.#choices > MOST_CHOICES) throw new BeyondForm('it has too many choices')
  }

  /** A schema of one type, without references and unions; `null` is taken out of it. */
  #plain(given: unknown, place: Place): { readonly schema: Schema; readonly isNullable: boolean } {
    let schema = given
    let isNullable = false
    for (let step = 0; step < MOST_STEPS; step += 1) {
      if (!isRecord(schema)) throw beyond(place, 'is any value')
      const keyword = BEYOND.find((name) => schema !== undefined && Object.hasOwn(schema as Schema, name))
      if (keyword !== undefined) throw beyond(place, `has "${keyword}"`)
      const next = this.#next(schema, place)
      isNullable ||= next.isNullable
      if (next.schema === schema) return { schema: withOneType(schema, place), isNullable }
      schema = next.schema
    }
    throw beyond(place, 'has references within references')
  }

  /** One step towards a plain schema; the schema itself if it is one. */
  #next(schema: Schema, place: Place): { readonly schema: Schema; readonly isNullable: boolean } {
    const { $ref, anyOf, oneOf, type } = schema
    if (Array.isArray(schema['enum']) && schema['enum'].includes(null)) {
      const rest = schema['enum'].filter((value) => value !== null)
      return { schema: { ...schema, enum: rest }, isNullable: true }
    }
    if (Array.isArray(type) && type.includes('null') && type.length === 2)
      return { schema: { ...schema, type: type.find((name) => name !== 'null') }, isNullable: true }
    const union = anyOf ?? oneOf
    if ($ref === undefined && union === undefined) return { schema, isNullable: false }
    const lost = ALONE.find((name) => Object.hasOwn(schema, name))
    if (lost !== undefined || [$ref, anyOf, oneOf].filter((one) => one !== undefined).length > 1)
      throw beyond(place, `has "${lost ?? 'oneOf'}" beside a union or a reference`)
    if ($ref !== undefined)
      return { schema: { ...this.#target($ref, place), ...notesOf(schema) }, isNullable: false }
    return unionOf(schema, { members: union, place })
  }

  #target(reference: unknown, place: Place): Schema {
    const [, folder = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference)) ?? []
    const definitions = isRecord(this.#schema) ? this.#schema[folder] : undefined
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    const target = isRecord(definitions) && Object.hasOwn(definitions, key) ? definitions[key] : undefined
    if (!isRecord(target)) throw beyond(place, 'has a reference to elsewhere')
    return target
  }
}

/** A union of fixed values is an enum, and one of a schema and `null` is that schema. */
function unionOf(
  schema: Schema,
  { members, place }: { readonly members: unknown; readonly place: Place },
): { readonly schema: Schema; readonly isNullable: boolean } {
  if (!Array.isArray(members) || members.length > MOST_CHOICES) throw beyond(place, 'is a union')
  const isNull = (member: unknown): boolean =>
    isRecord(member) && (member['type'] === 'null' || member['const'] === null)
  const rest: unknown[] = members.filter((member) => !isNull(member))
  const isNullable = rest.length < members.length
  const [only] = rest
  const type = schema['type']
  if (rest.length === 1 && isRecord(only)) {
    if (type !== undefined && only['type'] !== undefined && type !== only['type'])
      throw beyond(place, 'is a union')
    return { schema: { ...(type !== undefined && { type }), ...only, ...notesOf(schema) }, isNullable }
  }
  const options = rest.flatMap((member): readonly (AnswerChoice | undefined)[] =>
    isRecord(member) ? (choicesOf(member, true) ?? NO_CHOICES) : NO_CHOICES,
  )
  if (options.length === 0 || options.includes(undefined)) throw beyond(place, 'is a union of several types')
  const isBoolean = rest.every((member) => isRecord(member) && typeof member['const'] === 'boolean')
  if (isBoolean && rest.length === 2) return { schema: { ...notesOf(schema), type: 'boolean' }, isNullable }
  return { schema: { ...notesOf(schema), [CHOICES]: options }, isNullable }
}

const NO_CHOICES: readonly undefined[] = [undefined]

/** Where the choices of a union are in the schema that it has become. No stored schema has it. */
const CHOICES = Symbol('choices')

/** `isMember`: of a union, of which each has a title of its own. */
function choicesOf(schema: Schema, isMember = false): readonly AnswerChoice[] | undefined {
  if (Array.isArray(schema[CHOICES])) return schema[CHOICES] as readonly AnswerChoice[]
  const values: unknown = Object.hasOwn(schema, 'const') ? [schema['const']] : schema['enum']
  if (!Array.isArray(values)) return undefined
  if (values.length === 0) throw new BeyondForm('it has an enum without values')
  if (values.length > MOST_CHOICES) throw new BeyondForm('it has too many choices')
  const isAlone = isMember && values.length === 1
  return values.map((value: unknown) => {
    if (typeof value !== 'string' && typeof value !== 'boolean' && !isFiniteNumber(value))
      throw new BeyondForm('it has a choice that is an object, an array or null')
    const title = isAlone ? textIn(schema, 'title') : undefined
    const label = title ?? (typeof value === 'string' ? readable(value) : undefined)
    const description = isAlone ? textIn(schema, 'description') : undefined
    return {
      value,
      ...(label !== undefined
        ? { label: cut(label) }
        : typeof value === 'number' && { label: String(value) }),
      ...(description !== undefined && { description: cut(description, MOST_OF_A_DESCRIPTION) }),
    }
  })
}

function askedOf(schema: Schema, { key, isRequired, isLoose, level }: Place, isNullable: boolean): Asked {
  const title = textIn(schema, 'title') ?? (level === 0 ? '' : readable(key))
  const description = textIn(schema, 'description')
  return {
    key,
    label: cut(title),
    ...(description !== undefined && { description: cut(description, MOST_OF_A_DESCRIPTION) }),
    isRequired,
    isNullable,
    isLoose,
    // A row or group that is left blank has to stay blank.
    ...(schema['default'] !== undefined && !isLoose && { default: schema['default'] }),
  }
}

const FORMATS: Readonly<Record<string, TextField['format']>> = {
  email: 'email',
  'idn-email': 'email',
  uri: 'url',
  url: 'url',
  date: 'date',
  'date-time': 'date-time',
  time: 'time',
}

function textOf(schema: Schema, asked: Asked): TextField {
  const [minLength, maxLength] = [numeric(schema['minLength']), numeric(schema['maxLength'])]
  const format = formatOf(schema, asked)
  const pattern = format === 'short' || format === 'email' || format === 'url' ? patternOf(schema) : undefined
  return {
    ...asked,
    kind: 'text',
    format,
    ...(minLength !== undefined && { minLength }),
    ...(maxLength !== undefined && { maxLength }),
    ...(pattern !== undefined && { pattern }),
  }
}

/** What is known to be short gets one line, unless it begins with several. */
function formatOf(schema: Schema, asked: Asked): TextField['format'] {
  const named = textIn(schema, 'format')
  const known = named !== undefined && Object.hasOwn(FORMATS, named) ? FORMATS[named] : undefined
  if (known !== undefined) return known
  const isShort = (numeric(schema['maxLength']) ?? Infinity) <= MOST_OF_A_LINE
  const isLine = isShort || named !== undefined || textIn(schema, 'pattern') !== undefined
  return isLine && !/[\r\n]/.test(typeof asked.default === 'string' ? asked.default : '') ? 'short' : 'long'
}

/**
 * A browser takes the pattern for one of the whole text, in the mode `v`, and its page stands still while a bad one runs. So it is given
 * one that reads characters in turn, with two repetitions at most: it can look back as often as the text is long, squared.
 */
function patternOf(schema: Schema): string | undefined {
  const pattern = textIn(schema, 'pattern')
  if (pattern === undefined || pattern.length > MOST_OF_A_PATTERN) return undefined
  try {
    new RegExp(pattern, 'v')
  } catch {
    return undefined
  }
  const isWhole = pattern.startsWith('^') && /[^\\]\$$/.test(pattern)
  return isWhole && !/[(|]|(?:[*+?,][^]*){3}/.test(pattern) ? pattern : undefined
}

function numberOf(schema: Schema, asked: Asked): NumberField {
  const isInteger = schema['type'] === 'integer'
  const multipleOf = numeric(schema['multipleOf'])
  const bounds = isInteger ? integerBounds(schema) : numberBounds(schema)
  const said = Object.entries(bounds).filter(([, bound]) => isSaid(bound))
  return {
    ...asked,
    kind: 'number',
    isInteger,
    ...(Object.fromEntries(said) as Bounds),
    ...(multipleOf !== undefined && multipleOf > 0 && { multipleOf }),
  }
}

type Bounds = Pick<NumberField, 'min' | 'max' | 'above' | 'below'>

/** The bounds of all integers say nothing to a person. */
function isSaid(bound: number | undefined): bound is number {
  return bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
}

function numberBounds(schema: Schema): Readonly<Record<keyof Bounds, number | undefined>> {
  return {
    min: numeric(schema['minimum']),
    max: numeric(schema['maximum']),
    above: numeric(schema['exclusiveMinimum']),
    below: numeric(schema['exclusiveMaximum']),
  }
}

function integerBounds(schema: Schema): Pick<Bounds, 'min' | 'max'> {
  const { min = -Infinity, max = Infinity, above = -Infinity, below = Infinity } = numberBounds(schema)
  return {
    min: Math.max(Math.ceil(min), Math.floor(above) + 1),
    max: Math.min(Math.floor(max), Math.ceil(below) - 1),
  }
}

function booleanOf(asked: Asked, { level, isLoose }: Place): BooleanField {
  const isKnown = asked.isRequired || typeof asked.default === 'boolean'
  return { ...asked, kind: 'boolean', isCheckbox: isKnown && !asked.isNullable && !isLoose && level > 0 }
}

function withOneType(schema: Schema, place: Place): Schema {
  const { type } = schema
  if (type === undefined && isRecord(schema['properties'])) return { ...schema, type: 'object' }
  if (!Array.isArray(type)) return schema
  if (type.length === 1) return { ...schema, type: type[0] as unknown }
  throw beyond(place, 'is of several types')
}

function notesOf(schema: Schema): Schema {
  return Object.fromEntries(
    NOTES.filter((name) => Object.hasOwn(schema, name)).map((name) => [name, schema[name]]),
  )
}

function beyond({ key }: Place, what: string): BeyondForm {
  return new BeyondForm(key === '' ? `it ${what}` : `“${cut(key, 80)}” ${what}`)
}

function typeOf({ type }: Schema): string {
  return typeof type === 'string' ? cut(type, 80) : 'any value'
}

function textIn(schema: Schema, name: string): string | undefined {
  const text = schema[name]
  return typeof text === 'string' ? text : undefined
}

function numeric(value: unknown): number | undefined {
  return isFiniteNumber(value) ? value : undefined
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
