import fc from 'fast-check'

/** A schema that a form shows, and a value that fits it. */
export interface Asked {
  readonly schema: object
  /** `undefined`: it was left blank, where that is possible. */
  readonly value: unknown
}

const KEYS = [
  'note',
  'orderId',
  '__proto__',
  'a.b',
  '',
  '"><script>',
  'постоянно',
  '_charset_',
  '0',
  'constructor',
]

/** What markup and forms treat in their own way, among all else. */
const piece = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }),
  fc.constantFrom('\n', ' ', '<', '"', '&amp;', '</textarea>', '\u202e', '\t'),
)
const text = fc
  .array(piece, { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.join('').replace(/[\r\0]/g, 'x'))
const line = text.map((given) => given.replace(/\n/g, ' '))
const choices = fc.uniqueArray(fc.oneof(line, fc.integer(), fc.boolean()), { minLength: 1, maxLength: 12 })
const date = fc
  .date({ min: new Date('1000-01-01T00:00:00Z'), max: new Date('9990-01-01T00:00:00Z'), noInvalidDate: true })
  .map((at) => at.toISOString())

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((given) => given + 0)

/** What takes one control. */
const scalar: fc.Arbitrary<Asked> = fc.oneof(
  fc.oneof(text, line).map((value) => ({ schema: { type: 'string' }, value })),
  line.map((value) => ({ schema: { type: 'string', maxLength: 100 }, value })),
  line.map((value) => ({ schema: { type: 'string', pattern: '.' }, value })),
  date.map((at) => ({ schema: { type: 'string', format: 'date' }, value: at.slice(0, 10) })),
  date.map((at) => ({ schema: { type: 'string', format: 'date-time' }, value: at.replace('.000Z', 'Z') })),
  date.map((at) => ({ schema: { type: 'string', format: 'time' }, value: at.slice(11, 19) })),
  fc.emailAddress().map((value) => ({ schema: { type: 'string', format: 'email' }, value })),
  fc.webUrl().map((value) => ({ schema: { type: 'string', format: 'uri' }, value })),
  number.map((value) => ({ schema: { type: 'number' }, value })),
  fc.maxSafeInteger().map((value) => ({ schema: { type: 'integer', minimum: -5 }, value })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  choices.chain((values) =>
    fc.record({
      schema: fc.constantFrom<object>(
        { enum: values },
        { anyOf: values.map((value) => ({ const: value, title: `t ${String(value)}` })) },
      ),
      value: fc.constantFrom(...values),
    }),
  ),
)

const list: fc.Arbitrary<Asked> = choices.chain((values) =>
  fc.subarray(values, { minLength: 1 }).map((value) => ({
    schema: { type: 'array', items: { enum: values } },
    value,
  })),
)

interface Part extends Asked {
  readonly key: string
  readonly isRequired: boolean
  readonly isBlank: boolean
}

/** A schema that may also be `null`, as libraries write it, and what its value is when it is left blank. */
function part(inner: fc.Arbitrary<Asked>, key: string): fc.Arbitrary<Part> {
  return fc
    .record({ inner, isRequired: fc.boolean(), isNullable: fc.boolean(), isBlank: fc.boolean() })
    .map(({ inner: { schema, value }, isRequired, isNullable, isBlank }) => ({
      key,
      schema: isNullable ? { anyOf: [schema, { type: 'null' }] } : schema,
      value: isBlank ? (isRequired ? null : undefined) : value,
      isRequired,
      isBlank: isBlank && (!isRequired || isNullable),
    }))
    .filter(({ value, isBlank }) => isBlank || (value !== undefined && value !== null))
}

function object(inner: fc.Arbitrary<Asked>, hasOneFilled: boolean): fc.Arbitrary<Asked> {
  return fc
    .uniqueArray(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 5 })
    .chain((keys) => fc.tuple(...keys.map((key) => part(inner, key))))
    .filter((parts) => !hasOneFilled || parts.some(({ isBlank }) => !isBlank))
    .map((parts) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(parts.map(({ key, schema }) => [key, schema])),
        required: parts.filter(({ isRequired }) => isRequired).map(({ key }) => key),
      },
      value: Object.fromEntries(
        parts.filter(({ value }) => value !== undefined).map(({ key, value }) => [key, value]),
      ),
    }))
}

/** Each row has the same schema, so that one value of a fixed shape is made into several. */
const rows: fc.Arbitrary<Asked> = fc
  .array(fc.record({ sku: line, count: fc.integer(), isNew: fc.boolean() }), { minLength: 1, maxLength: 50 })
  .map((value) => ({
    schema: {
      type: 'array',
      items: {
        type: 'object',
        properties: { sku: { type: 'string' }, count: { type: 'integer' }, isNew: { type: 'boolean' } },
        required: ['sku', 'count', 'isNew'],
      },
    },
    value,
  }))

/** Schemas of the subset, each with a value that fits it. */
export const asked: fc.Arbitrary<Asked> = fc.oneof(
  scalar,
  list,
  rows,
  object(fc.oneof({ weight: 3, arbitrary: scalar }, list, rows, object(fc.oneof(scalar, list), true)), false),
)
