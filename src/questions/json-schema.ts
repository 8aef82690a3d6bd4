import { format, Validator } from '@cfworker/json-schema'
import type { Awaitable } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'
import { type Late, late } from '../primitives/late.ts'
import type { AnswerIssue } from '../api/question.ts'
import { issuesOf, PATTERN, pathTo } from './issues.ts'
import { isPart, type Kind, KEYWORDS, KINDS, NAMES, type SchemaPart } from './keywords.ts'
import type * as patterns from './pattern.ts'
import type { Pattern } from './pattern.ts'

/** Most schemas have no pattern. */
export const PATTERNS: Late<typeof patterns> = /* @__PURE__ */ late(() => import('./pattern.ts'))

const MOST_BYTES = 64 * 1_024
const MOST_DEPTH = 32
/** Values of a list that are to be all different: each is compared with each. */
const MOST_UNIQUE = 256
/** For one answer. A unit takes about a microsecond: one part of a schema is held against one part of an answer. */
const MOST_WORK = 20_000
const STEPS_OF_UNIT = 50
/** Of a text that is measured, which is quicker than a step of a pattern. */
const CHARACTERS_OF_UNIT = 1_000
/** Of a text of a format, which the library reads once or a few times. */
const CHARACTERS_OF_FORMAT = 200
/** Schemas that are kept as they were read: a question is asked and answered by one, again and again. */
const MOST_READ = 50
const known = new Map<string, JsonSchemaCheck>()
const NO_NAMES: ReadonlySet<string> = new Set()

/** A JSON Schema that is none, or by which answers cannot be checked in a bounded time. */
export class SchemaRefused extends Error {}

/** The check of one answer takes too long: because of one text, if it is given. */
class TooMuch extends Error {
  readonly text: string | undefined

  constructor(text: string | undefined) {
    super()
    this.text = text
  }
}

/**
 * Checks answers by a JSON Schema (draft 2020-12): in a bounded time, whatever both are, and without making code of the schema.
 * What is refused is on docs/ask-a-person.md.
 */
export class JsonSchemaCheck {
  readonly #validator: Validator
  /** Of texts, in the order of their formats. */
  readonly #texts: string[] = []
  #patterns: readonly Pattern[] = []
  /** Parts with patterns for names of members. */
  readonly #named: SchemaPart[] = []
  /** All names of the answer, and the properties of these parts by those that fit. */
  #names: ReadonlySet<string> = NO_NAMES
  readonly #found = new Map<SchemaPart, SchemaPart>()
  readonly #prepared = new Set<unknown>()
  readonly #references = new Set<string>()
  #left = Infinity

  /** Reads a schema. Throws, or rejects with, SchemaRefused. */
  static of(schema: unknown): Awaitable<JsonSchemaCheck> {
    const text = isPart(schema) ? JSON.stringify(schema) : undefined
    if (text === undefined) throw new SchemaRefused('the schema is no JSON Schema')
    const read = known.get(text)
    if (read !== undefined) return read
    const check = new JsonSchemaCheck(text)
    const isReady = check.#texts.length + check.#named.length === 0
    return chain(isReady ? check : PATTERNS.use((patterns) => check.#readPatterns(patterns)), (checked) => {
      known.set(text, checked)
      const [oldest] = known.keys()
      if (known.size > MOST_READ && oldest !== undefined) known.delete(oldest)
      return checked
    })
  }

  private constructor(text: string) {
    if (new TextEncoder().encode(text).length > MOST_BYTES)
      throw new SchemaRefused('the schema is longer than 64 kB')
    const root = JSON.parse(text) as SchemaPart
    this.#prepare(root, 0)
    for (const reference of this.#references) {
      // The library reads a name with a `%` as another one.
      if (reference.includes('%') || !this.#prepared.has(partAt(root, reference)))
        throw new SchemaRefused(`"$ref" of the schema leads to no part of it: ${reference}`)
    }
    try {
      this.#validator = new Validator(root, '2020-12', false)
    } catch (error) {
      // It looks into keywords that say nothing to a check, too.
      throw new SchemaRefused(`the schema cannot be read: ${(error as Error).message}`)
    }
  }

  #readPatterns({ Pattern }: typeof patterns): this {
    const all = new Map<string, Pattern>()
    let size = 0
    const read = (source: string): Pattern => {
      try {
        const pattern = all.get(source) ?? new Pattern(source, size)
        if (!all.has(source)) size += pattern.size
        all.set(source, pattern)
        return pattern
      } catch (error) {
        throw new SchemaRefused(`the pattern ${source} of the schema ${(error as Error).message}`)
      }
    }
    this.#patterns = this.#texts.map(read)
    for (const part of this.#named) this.#replaceNames(part, read)
    return this
  }

  /** The library would execute patterns of names by itself: instead, it finds those names of an answer that fit among the properties. */
  #replaceNames(schema: SchemaPart, read: (source: string) => Pattern): void {
    const { properties, patternProperties } = schema
    const named = Object.entries(patternProperties as SchemaPart)
    const patterns = named.map(([source, part]) => ({ pattern: read(source), part }))
    delete schema['patternProperties']
    Object.defineProperty(schema, 'properties', {
      get: () => {
        const found = this.#found.get(schema) ?? this.#propertiesOf(properties as SchemaPart, patterns)
        this.#found.set(schema, found)
        // The library looks for each of them in each object.
        this.#spend(Object.keys(found).length / STEPS_OF_UNIT)
        return found
      },
    })
  }

  #propertiesOf(
    properties: SchemaPart | undefined,
    patterns: readonly { readonly pattern: Pattern; readonly part: unknown }[],
  ): SchemaPart {
    const found = Object.assign(Object.create(null) as SchemaPart, properties)
    for (const name of this.#names) {
      const fitting = patterns.filter(({ pattern }) => this.#fits(pattern, name)).map(({ part }) => part)
      if (fitting.length > 0) found[name] = { allOf: name in found ? [found[name], ...fitting] : fitting }
    }
    return found
  }

  /** What is wrong with an answer; nothing if it fits. */
  issues(answer: unknown): readonly AnswerIssue[] {
    this.#left = MOST_WORK
    tryPattern = (place, text) => this.#fits(this.#patterns[place] as Pattern, text)
    spend = (work) => this.#spend(work)
    try {
      if (this.#named.length > 0) this.#names = this.#namesIn(answer)
      const { valid, errors } = this.#validator.validate(answer)
      return valid ? [] : issuesOf(errors)
    } catch (error) {
      // A schema that refers to itself without an end, in a part that this answer has reached, ends the stack.
      if (error instanceof TooMuch || error instanceof RangeError)
        return [
          { path: pathTo((error as Partial<TooMuch>).text, answer), message: 'is too large to be checked' },
        ]
      // The library writes the names of members as those of an address.
      if (error instanceof URIError) return [{ path: [], message: 'has a name that is no text' }]
      throw error
    } finally {
      this.#names = NO_NAMES
      this.#found.clear()
      tryPattern = undefined
      spend = undefined
    }
  }

  /** Whether a text fits a pattern. It is to blame for the time if there was enough of it before. */
  #fits(pattern: Pattern, text: string): boolean {
    const blamed = this.#left > MOST_WORK / 2 ? text : undefined
    return pattern.test(text, (steps) => {
      this.#spend(steps / STEPS_OF_UNIT, blamed)
    })
  }

  #spend(work: number, blamed?: string): void {
    this.#left -= work
    if (this.#left < 0) throw new TooMuch(blamed)
  }

  #namesIn(value: unknown, found = new Set<string>()): ReadonlySet<string> {
    this.#spend(1 / STEPS_OF_UNIT)
    if (typeof value !== 'object' || value === null) return found
    if (!Array.isArray(value)) for (const name of Object.keys(value)) found.add(name)
    for (const inner of Object.values(value)) this.#namesIn(inner, found)
    return found
  }

  /** Makes a schema one whose work is counted, in place, and refuses what is none. */
  #prepare(schema: unknown, depth: number): void {
    this.#prepared.add(schema)
    if (typeof schema === 'boolean') return
    if (!isPart(schema)) throw new SchemaRefused('a part of the schema is no JSON Schema')
    if (depth > MOST_DEPTH) throw new SchemaRefused(`the schema is deeper than ${String(MOST_DEPTH)}`)
    for (const [keyword, value] of Object.entries(schema)) {
      const kind = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined
      if (kind === 'refused') throw new SchemaRefused(`"${keyword}" of JSON Schema is not supported`)
      if (kind !== undefined && !KINDS[kind](value))
        throw new SchemaRefused(`"${keyword}" of the schema is not ${NAMES[kind]}`)
      for (const part of partsOf(kind, value)) this.#prepare(part, depth + 1)
    }
    if (typeof schema['$ref'] === 'string') this.#references.add(schema['$ref'])
    this.#preparePatterns(schema)
    this.#count(schema)
    this.#countTexts(schema)
  }

  #preparePatterns(schema: SchemaPart): void {
    const { pattern, patternProperties } = schema
    if (patternProperties !== undefined) this.#named.push(schema)
    if (typeof pattern === 'string') {
      delete schema['pattern']
      schema['format'] = patternFormat(this.#texts.push(pattern) - 1)
    } else if (!FORMATS.has(schema['format'] as string)) delete schema['format']
  }

  /** The library reads `$ref` of a part once for each time that it holds it against something. */
  #count(schema: SchemaPart): void {
    const { $ref, enum: values, required, uniqueItems, maxItems } = schema
    const most = uniqueItems === true ? (maxItems as number | undefined) : 0
    if (most === undefined || most > MOST_UNIQUE)
      throw new SchemaRefused(`"uniqueItems" needs "maxItems" of at most ${String(MOST_UNIQUE)}`)
    if (most > 0) {
      // The library compares a list with itself also when it is too long.
      delete schema['uniqueItems']
      const unique = { if: { maxItems }, then: { uniqueItems: true } }
      alsoAll(schema, unique)
    }
    // The library writes them into each error, too.
    const { length } = JSON.stringify([values, schema['const'], required])
    const work = 1 + (length + most ** 2) / STEPS_OF_UNIT
    Object.defineProperty(schema, '$ref', {
      enumerable: $ref !== undefined,
      get: () => {
        this.#spend(work)
        return $ref
      },
    })
  }

  /** The library counts the characters of a text for its length, and reads one of a format. */
  #countTexts(schema: SchemaPart): void {
    const { minLength, maxLength, format } = schema
    if ((minLength ?? maxLength) !== undefined) alsoAll(schema, { format: workFormat(CHARACTERS_OF_UNIT) })
    if (FORMATS.has(format as string)) alsoAll(schema, { format: workFormat(CHARACTERS_OF_FORMAT) })
  }
}

/** A part that the library looks at before it looks at texts and names. */
function alsoAll(schema: SchemaPart, part: SchemaPart): void {
  schema['allOf'] = [...((schema['allOf'] ?? []) as readonly unknown[]), part]
}

/** A format that every text has, and that counts the work of it: a unit for each so many characters. */
function workFormat(characters: number): string {
  const name = `work ${String(characters)}`
  format[name] ??= (text) => {
    spend?.(text.length / characters)
    return true
  }
  return name
}

/** Those of the check that is at work: the library knows formats by names of all schemas. */
let spend: ((work: number) => void) | undefined
let tryPattern: ((place: number, text: string) => boolean) | undefined

function patternFormat(place: number): string {
  const name = `${PATTERN}${String(place)}`
  format[name] ??= (text) => tryPattern?.(place, text) ?? true
  return name
}

/** Formats that are checked; others say something to people and forms. */
const FORMATS: ReadonlySet<string> = new Set([
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'time',
  'uri',
  'uuid',
])

function partsOf(kind: Kind | undefined, value: unknown): readonly unknown[] {
  if (kind === 'schema') return [value]
  if (kind === 'schemas') return value as readonly unknown[]
  return kind === 'schema map' ? Object.values(value as SchemaPart) : []
}

/** What a reference leads to: a part of the schema itself, by its place. */
function partAt(root: SchemaPart, reference: string): unknown {
  const [start, ...names] = reference.split('/')
  return names.reduce<unknown>(
    (part, name) => {
      const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
      return typeof part === 'object' && part !== null && Object.hasOwn(part, key)
        ? (part as SchemaPart)[key]
        : undefined
    },
    start === '#' ? root : undefined,
  )
}
