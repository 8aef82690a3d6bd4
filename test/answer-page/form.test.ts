import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { formOf, MOST_FIELDS } from '../../src/answer-page/form.ts'
import { answerPage, answerPageHeaders } from '../../src/answer-page/page.ts'
import { answerOf } from '../../src/answer-page/values.ts'

const properties = (
  properties: object,
  required: readonly string[] = Object.keys(properties),
): Readonly<Record<string, unknown>> => ({ type: 'object', properties, required })
const one = (schema: unknown, required?: readonly string[]): unknown => properties({ one: schema }, required)

function pageOf(schema: unknown, choices?: readonly string[]): string {
  const model = formOf({ schema, ...(choices && { choices }) })
  return answerPage({ question: { message: 'Which?' }, model, now: 0 })
}

/** The opening tag of the first control that a page has, without what all of them have. */
function control(page: string): string {
  const tags = [...page.matchAll(/<(?:input|select|textarea|button)\b(?:[^>"]|"[^"]*")*>/g)].map(
    ([tag]) => tag,
  )
  const shown = tags.find((tag) => !tag.includes('type="hidden"')) ?? ''
  return shown
    .replace(/ (?:id|name|aria-describedby|autocomplete|dir|value)="[^"]*"/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?\/?>$/, '>')
}

const item = properties({ sku: { type: 'string' } })

describe('the form of a schema', () => {
  it.each<[what: string, schema: unknown, tag: string]>([
    ['a text without a bound', one({ type: 'string' }), '<textarea rows="2" required>'],
    ['a long text', one({ type: 'string', maxLength: 500 }), '<textarea rows="2" required maxlength="500">'],
    [
      'a short text',
      one({ type: 'string', minLength: 2, maxLength: 40 }),
      '<input type="text" required minlength="2" maxlength="40">',
    ],
    [
      'a text of a pattern',
      one({ type: 'string', pattern: '^[A-Z]{2,4}-\\d+$' }),
      '<input type="text" required pattern="^[A-Z]{2,4}-\\d+$">',
    ],
    ...['[A-Z]', '^(a+)+$', '^a|b$', '^a*b*c*$', '^a?\\na{1,2}a+$'].map(
      (pattern): [string, unknown, string] => [
        `a pattern that a browser is not given: ${pattern}`,
        one({ type: 'string', pattern }),
        '<input type="text" required>',
      ],
    ),
    [
      'a pattern that is none in a browser',
      one({ type: 'string', pattern: '[a-' }),
      '<input type="text" required>',
    ],
    [
      'a pattern that is too long',
      one({ type: 'string', pattern: 'a'.repeat(2_000) }),
      '<input type="text" required>',
    ],
    ['another format', one({ type: 'string', format: 'uuid' }), '<input type="text" required>'],
    ['email', one({ type: 'string', format: 'email' }), '<input type="email" required>'],
    ['uri', one({ type: 'string', format: 'uri' }), '<input type="url" required>'],
    ['date', one({ type: 'string', format: 'date', pattern: '.' }), '<input type="date" required>'],
    [
      'date-time',
      one({ type: 'string', format: 'date-time' }),
      '<input type="datetime-local" required step="any">',
    ],
    ['time', one({ type: 'string', format: 'time' }), '<input type="time" required step="any">'],
    ['a number', one({ type: 'number' }), '<input type="number" inputmode="decimal" step="any" required>'],
    [
      'a number of cents',
      one({ type: 'number', minimum: 0.01, maximum: 184, multipleOf: 0.01 }),
      '<input type="number" inputmode="decimal" step="0.01" min="0.01" max="184" required>',
    ],
    [
      'a multiple that a browser would count from elsewhere',
      one({ type: 'number', minimum: 1, multipleOf: 5 }),
      '<input type="number" inputmode="decimal" step="any" min="1" required>',
    ],
    [
      'an integer between two',
      one({ type: 'integer', exclusiveMinimum: 0, maximum: 9.5 }),
      '<input type="number" inputmode="numeric" step="1" min="1" max="9" required>',
    ],
    [
      'any integer',
      one(z.toJSONSchema(z.int())),
      '<input type="number" inputmode="decimal" step="1" required>',
    ],
    ['a boolean', one({ type: 'boolean' }), '<input type="checkbox">'],
    ['a boolean that may be left out', one({ type: 'boolean' }, []), '<input type="radio">'],
    ['a short enum', one({ enum: ['a', 'b'] }), '<input type="radio" required>'],
    ['a short enum that may be left out', one({ enum: ['a', 'b'] }, []), '<input type="radio">'],
    ['a long enum', one({ enum: ['a', 'b', 'c', 'd', 'e', 'f'] }), '<select required>'],
    ['a const', one({ const: 'refund' }), '<input type="radio" checked required>'],
    ['a const that is a consent', one({ const: true }), '<input type="radio" required>'],
    [
      'one of consts',
      one({ oneOf: [{ const: 'a', title: 'First' }, { const: 2 }] }),
      '<input type="radio" required>',
    ],
    ['any of an enum', one({ type: 'array', items: { enum: ['a', 'b'] } }), '<input type="checkbox">'],
    ['an object', one(item), '<textarea rows="2" required>'],
    ['an object that may be left out', one(item, []), '<textarea rows="2">'],
    [
      'rows of objects',
      properties({ rows: { type: 'array', items: item } }),
      '<button class="unseen" tabindex="-1" aria-hidden="true">',
    ],
    ['null or a text', one({ type: ['string', 'null'] }), '<textarea rows="2">'],
    [
      'null or a number',
      one({ anyOf: [{ type: 'number' }, { type: 'null' }] }),
      '<input type="number" inputmode="decimal" step="any">',
    ],
    ['null or an enum', one({ enum: ['a', null] }), '<input type="radio">'],
    ['a choice', { enum: ['approve', 'reject'] }, '<button class="main">'],
    ['yes or no', { type: 'boolean' }, '<button class="main">'],
    ['many choices', { enum: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }, '<select required>'],
    ['a text alone', { type: 'string', maxLength: 9 }, '<input type="text" required maxlength="9">'],
    ['rows alone', { type: 'array', items: item }, '<textarea rows="2">'],
    [
      'a reference to a definition',
      { $defs: { 'a/b': { type: 'boolean' } }, ...properties({ one: { $ref: '#/$defs/a~1b', title: 'T' } }) },
      '<input type="checkbox">',
    ],
  ])('has a control for %s', (_what, schema, tag) => {
    expect(formOf({ schema })).toMatchObject({ kind: 'fields' })
    expect(control(pageOf(schema))).toBe(tag)
  })

  it.each<[because: string, schema: unknown]>([
    ['the question has no schema', undefined],
    ['it is any value', true],
    ['it is any value', {}],
    ['it is null', { type: 'null' }],
    ['“one” is of several types', one({ type: ['string', 'number'] })],
    ['“one” is a union of several types', one({ anyOf: [{ type: 'string' }, { type: 'number' }] })],
    ['it is a union of several types', { oneOf: [item, properties({ count: { type: 'number' } })] }],
    ['“one” has "enum" beside a union or a reference', one({ enum: ['a'], anyOf: [{ const: 'a' }] })],
    [
      '“one” has "oneOf" beside a union or a reference',
      one({ oneOf: [{ const: 'a' }], anyOf: [{ const: 'a' }] }),
    ],
    ['“one” has "allOf"', one({ type: 'string', allOf: [{ pattern: '^a' }] })],
    ['it has "if"', { ...item, if: item, then: item }],
    ['“one” has "propertyNames"', one(z.toJSONSchema(z.record(z.string(), z.string())))],
    ['“one” is an object with any properties', one({ type: 'object' })],
    ['it has a required property without a schema', { ...item, required: ['other'] }],
    ['“one” is an array of string', one({ type: 'array', items: { type: 'string' } })],
    ['“one” has "prefixItems"', one(z.toJSONSchema(z.tuple([z.string()])))],
    ['“one” is an array with null in it', one({ type: 'array', items: { enum: ['a', null] } })],
    ['“one” is an array of at least 51 objects', one({ type: 'array', items: item, minItems: 51 })],
    ['“two” is an object inside of a group or of rows', one(properties({ two: item }))],
    [
      '“two” has rows inside of a group or of rows',
      one({ type: 'array', items: properties({ two: { type: 'array', items: item } }) }),
    ],
    ['it has an enum without values', { enum: [] }],
    ['it has a choice that is an object, an array or null', one({ enum: [{ a: 1 }] })],
    ['“one” has a reference to elsewhere', one({ $ref: 'https://example.com/schema' })],
    [
      '“one” has a reference to elsewhere',
      { ...properties({ one: { $ref: '#/$defs/constructor' } }), $defs: {} },
    ],
    [
      '“one” has references within references',
      { ...properties({ one: { $ref: '#/$defs/a' } }), $defs: { a: { $ref: '#/$defs/a' } } },
    ],
    [
      `it has more than ${MOST_FIELDS} fields`,
      properties(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, { type: 'string' }]))),
    ],
    ['it has too many choices', { enum: Array.from({ length: 10_001 }, (_, at) => at) }],
  ])('is none: %s', (because, schema) => {
    const model = formOf({ schema })
    expect(model).toMatchObject({ kind: 'json', because })
    const page = pageOf(schema)
    expect(control(page)).toBe('<textarea class="json" spellcheck="false" required>')
    expect(page).toContain('This page has no form for the answer: ')
    expect(page.match(/<(?:input|select|textarea)\b/g)).toHaveLength(2)
  })

  it('has a button for each choice of a question', () => {
    const page = pageOf(undefined, ['approve', 'reject'])
    expect(page.match(/<button/g)).toHaveLength(2)
    const model = formOf({ choices: ['approve', 'reject'] })
    const sent = (value: string): unknown =>
      answerOf(model, [
        ['form', '1'],
        ['answer', value],
      ])
    expect([sent('0'), sent('1')]).toEqual([
      { kind: 'answer', value: 'approve' },
      { kind: 'answer', value: 'reject' },
    ])
    expect(sent('')).toMatchObject({ kind: 'errors' })
  })

  it('is that of a schema of zod, of valibot and of arktype', () => {
    const schema = z.object({
      decision: z.enum(['approve', 'reject']),
      note: z.string().max(500).optional(),
      amount: z.number().gt(0).nullable(),
      lines: z.array(z.object({ sku: z.string(), count: z.int() })),
      mail: z.email(),
      ok: z.boolean(),
      tags: z.array(z.enum(['a', 'b'])),
    })
    // As @valibot/to-json-schema and arktype write it.
    const valibot: unknown = JSON.parse(
      '{"type":"object","properties":{"decision":{"enum":["approve","reject"],"type":"string"},"note":{"type":"string","maxLength":500},"amount":{"anyOf":[{"type":"number","exclusiveMinimum":0},{"type":"null"}]},"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"count":{"type":"integer"}},"required":["sku","count"]}},"mail":{"type":"string","format":"email"},"ok":{"type":"boolean"},"tags":{"type":"array","items":{"enum":["a","b"],"type":"string"}}},"required":["decision","amount","lines","mail","ok","tags"],"$schema":"http://json-schema.org/draft-07/schema#"}',
    )
    const arktype: unknown = JSON.parse(
      '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"amount":{"anyOf":[{"type":"number","exclusiveMinimum":0},{"type":"null"}]},"decision":{"enum":["approve","reject"]},"lines":{"type":"array","items":{"type":"object","properties":{"count":{"type":"integer"},"sku":{"type":"string"}},"required":["count","sku"]}},"mail":{"type":"string","pattern":"^[\\\\w%+.-]+@[\\\\d.A-Za-z-]+\\\\.[A-Za-z]{2,}$","format":"email"},"ok":{"type":"boolean"},"tags":{"type":"array","items":{"enum":["a","b"]}},"note":{"type":"string","maxLength":500}},"required":["amount","decision","lines","mail","ok","tags"]}',
    )
    const kinds = [z.toJSONSchema(schema), valibot, arktype].map((given) => {
      const model = formOf({ schema: given })
      const fields = model.kind === 'fields' && model.root.kind === 'group' ? model.root.fields : []
      return fields
        .map(({ key, kind, isRequired, isNullable }) => [key, kind, isRequired, isNullable].join(' '))
        .toSorted()
    })
    expect(kinds[0]).toEqual([
      'amount number true true',
      'decision choice true false',
      'lines rows true false',
      'mail text true false',
      'note text false false',
      'ok boolean true false',
      'tags checks true false',
    ])
    expect(kinds[1]).toEqual(kinds[0])
    expect(kinds[2]).toEqual(kinds[0])
  })

  it('has an end, however deep or wide the schema is', () => {
    let deep: unknown = { type: 'string' }
    for (let depth = 0; depth < 5_000; depth += 1) deep = { anyOf: [deep, { type: 'null' }] }
    const wide = properties(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, true])))
    const label = 'x'.repeat(20_000)
    const heavy = properties(
      Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [
          `${at}${label}`,
          {
            enum: Array.from({ length: 20 }, (_, choice) => `${choice}${label}`),
            title: label,
            description: label,
          },
        ]),
      ),
    )
    const rows = {
      type: 'array',
      minItems: 50,
      items: properties({ one: { enum: Array.from({ length: 201 }, (_, at) => at) } }),
    }
    for (const schema of [deep, wide, rows]) expect(formOf({ schema }).kind).toBe('json')
    expect(formOf({ schema: heavy }).kind).toBe('fields')
    for (const schema of [deep, wide, heavy, rows]) expect(pageOf(schema).length).toBeLessThan(6_000_000)
  })

  it('executes no pattern', () => {
    const schema = one({ type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(50)}!` })
    expect(pageOf(schema)).not.toContain('pattern=')
    const model = formOf({ schema })
    expect(
      answerOf(model, [
        ['form', '1'],
        ['answer.0', `${'a'.repeat(50)}!`],
      ]),
    ).toMatchObject({ kind: 'answer' })
    expect(answerPageHeaders(pageOf(schema))['content-security-policy']).not.toContain('script')
  })
})
