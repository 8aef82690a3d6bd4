import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { JsonSchemaCheck, SchemaRefused } from '../../src/questions/json-schema.ts'

async function issuesOf(schema: unknown, answer: unknown): Promise<readonly unknown[]> {
  const check = await JsonSchemaCheck.of(schema)
  return check.issues(answer).map(({ path, message }) => [path.join('.'), message])
}

function repeated<T>(value: T, times: number): readonly T[] {
  return Array.from({ length: times }, () => value)
}

async function read(schema: unknown): Promise<JsonSchemaCheck> {
  return JsonSchemaCheck.of(schema)
}

describe('an answer by a JSON Schema', () => {
  const schema = z.toJSONSchema(
    z.object({
      decision: z.enum(['approve', 'reject']),
      note: z.string().max(5).optional(),
      mail: z.email(),
      rows: z.array(z.object({ count: z.int().min(1) })),
    }),
  )
  const fits = { decision: 'approve', mail: 'ann@example.com', rows: [{ count: 1 }] }

  it('fits', async () => {
    expect(await issuesOf(schema, fits)).toEqual([])
  })

  it.each([
    ['no object', 1, ['']],
    ['a member that is missing', { ...fits, decision: undefined }, ['']],
    ['another value than those of an enum', { ...fits, decision: 'maybe' }, ['decision']],
    ['a text that is too long', { ...fits, note: 'too long' }, ['note']],
    ['a text that a pattern refuses', { ...fits, mail: 'ann' }, ['mail']],
    ['a member of an item', { ...fits, rows: [{ count: 1 }, { count: 0 }] }, ['rows.1.count']],
    ['a member of no schema', { ...fits, more: 1 }, ['more']],
    ['several', { ...fits, mail: 'ann', rows: [{}] }, ['mail', 'rows.0']],
  ])('does not fit with %s, and the issue says where', async (_, answer, paths) => {
    const issues = (await JsonSchemaCheck.of(schema)).issues(JSON.parse(JSON.stringify(answer)))
    expect(issues.map(({ path }) => path.join('.'))).toEqual(paths)
  })

  it('says that a pattern refused a text, whatever its format', async () => {
    const dated = { type: 'string', format: 'date', pattern: '^x' }
    expect(await issuesOf(dated, 'y')).toEqual([['', 'String does not match pattern.']])
    expect(await issuesOf(dated, 'x')).toEqual([])
  })

  it('checks the formats that it knows, and takes others as a hint to forms', async () => {
    expect(await issuesOf({ format: 'date' }, '2026-02-30')).toHaveLength(1)
    expect(await issuesOf({ format: 'url' }, 'no')).toEqual([])
  })

  it('follows references, also those to itself', async () => {
    const tree = {
      type: 'object',
      properties: { next: { $ref: '#' }, name: { $ref: '#/$defs/a~1b' } },
      $defs: { 'a/b': { type: 'string' } },
    }
    expect(await issuesOf(tree, { next: { next: { name: 1 } } })).toEqual([
      ['next.next.name', 'Instance type "number" is invalid. Expected "string".'],
    ])
  })

  it('has one pattern at many places', async () => {
    const schema = { additionalProperties: { pattern: '^a{3000}$' }, patternProperties: { '^a{3000}$': {} } }
    expect(
      await issuesOf(
        {
          ...schema,
          allOf: [...repeated({ pattern: '^a{3000}$' }, 9), { minLength: 0, pattern: 'b{6000}' }],
        },
        { a: 'b' },
      ),
    ).toHaveLength(1)
  })

  it('keeps patterns of two schemas apart', async () => {
    const first = await read({ pattern: '^a' })
    const second = await read({ pattern: '^b' })
    expect(first.issues('a')).toEqual([])
    expect(second.issues('a')).toHaveLength(1)
    expect(first.issues('b')).toHaveLength(1)
  })

  it('has names that patterns stand for', async () => {
    const named = {
      properties: { a1: { maximum: 5 }, toString: { type: 'number' } },
      patternProperties: { '^a': { type: 'number' }, '1$': { minimum: 2 }, '^__proto__$': { type: 'null' } },
      additionalProperties: { $ref: '#' },
    }
    expect(await issuesOf(named, { a1: 3, b: { a1: 3, a: 1, c: {} } })).toEqual([])
    expect(await issuesOf(named, { a1: 6, b1: 1, b: { a1: 1, a: 'x' } })).toEqual([
      ['a1', '6 is greater than 5.'],
      ['b1', '1 is less than 2.'],
      ['b.a1', '1 is less than 2.'],
      ['b.a', 'Instance type "string" is invalid. Expected "number".'],
    ])
    expect(await issuesOf(named, JSON.parse('{"b":{"__proto__":1}}'))).toEqual([
      ['b.__proto__', 'Instance type "number" is invalid. Expected "null".'],
    ])
    const referred = { $ref: '#/patternProperties/^a', patternProperties: { '^a': { type: 'object' } } }
    expect(await issuesOf(referred, 1)).toHaveLength(1)
    expect(await issuesOf(referred, { a: 1 })).toEqual([
      ['a', 'Instance type "number" is invalid. Expected "object".'],
    ])
  })

  it('has names of every kind', async () => {
    const hostile: unknown = JSON.parse('{"__proto__":1,"a/b~c%20#é":1,"\\ud800":1}')
    expect(await issuesOf({ additionalProperties: { type: 'number' } }, hostile)).toEqual([
      ['', 'has a name that is no text'],
    ])
    const strict = { additionalProperties: { type: 'string' } }
    const [issue] = (await JsonSchemaCheck.of(strict)).issues(JSON.parse('{"a/b~c%20#é":1}'))
    expect(issue?.path).toEqual(['a/b~c%20#é'])
    expect((await JsonSchemaCheck.of(strict)).issues(JSON.parse('{"__proto__":1}'))).toHaveLength(1)
  })
})

describe('a schema is refused', () => {
  it.each<[string, unknown]>([
    ['is no object', 'text'],
    ['is a list', []],
    ['has a part that is no schema', { properties: { a: 1 } }],
    ['has an unknown type', { type: 'date' }],
    ['has a keyword of another kind', { maxLength: '5' }],
    ['has a pattern that is none', { pattern: '(' }],
    ['has a pattern that refers back', { properties: { a: { pattern: '^(a)\\1$' } } }],
    ['has such a pattern for names', { patternProperties: { '(a)\\1': {} } }],
    ['has patterns of too many parts', { allOf: [{ pattern: 'a{4000}' }, { pattern: 'b{6000}' }] }],
    ['compares too many values', { type: 'array', uniqueItems: true }],
    ['refers to another document', { $ref: 'https://example.com/schema' }],
    ['refers to nothing', { $ref: '#/$defs/a' }],
    ['refers to a name that an address would change', { $ref: '#/$defs/%41', $defs: { '%41': {} } }],
    ['has names that are no text', { properties: { '\ud800': {} } }],
    ['has two parts of one address', { x: { $id: 'a' }, y: { $id: 'a' } }],
    ['has what is no address', { x: { $ref: 'http://[' } }],
    ['refers to what is no schema', { default: { pattern: '(a+)+$' }, $ref: '#/default' }],
    ['names a part', { $anchor: 'a' }],
    ['has an address', { $id: 'https://example.com/schema' }],
    ['is larger than 64 kB', { description: 'x'.repeat(64 * 1_024) }],
    ['is too deep', Array.from({ length: 99 }).reduce((items: unknown) => ({ items }), {})],
  ])('that %s', async (_, schema) => {
    await expect(read(schema)).rejects.toThrow(SchemaRefused)
  })
})

describe('a check ends', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  const both = { anyOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }], type: 'array' }

  it.each<[string, unknown, unknown]>([
    ['a reference to itself', { $ref: '#' }, 1],
    ['a reference that doubles', both, nested(60)],
    ['a list of many', { items: { type: 'string' } }, Array.from({ length: 20_000 }).fill('')],
    [
      'many against a long enum',
      { items: { enum: Array.from({ length: 2_000 }, (_, at) => at) } },
      Array.from({ length: 1_000 }).fill(-1),
    ],
    ['many against a long constant', { items: { const: 'x'.repeat(60_000) } }, Array.from('x'.repeat(99))],
    ['a text of millions', { pattern: '^[^@]+@[^@]+$' }, 'a'.repeat(5_000_000)],
    ['a pattern of many parts', { pattern: '(?:a?){1000}b' }, 'a'.repeat(2_000)],
    ['a pattern that looks ahead', { pattern: '^(?!.*b)' }, 'a'.repeat(900_000)],
    ['a long text of a format', { allOf: repeated({ format: 'uri' }, 10) }, `a:${'a'.repeat(900_000)}`],
    ['many lengths of a long text', { allOf: repeated({ minLength: 1 }, 1_000) }, 'x'.repeat(100_000)],
    [
      'many names against many patterns',
      { patternProperties: Object.fromEntries(repeated(0, 900).map((_, at) => [`^a${at}$`, {}])) },
      Object.fromEntries(repeated(0, 900).map((_, at) => [`ab${at}`, 1])),
    ],
    [
      'many objects of many names',
      { items: { patternProperties: { '^a': {} } } },
      repeated(0, 3_000).map((_, at) => ({ [`a${at}`]: 1 })),
    ],
  ])('also for %s', async (_, schema, answer) => {
    expect(await issuesOf(schema, answer)).toEqual([['', 'is too large to be checked']])
  })

  it('and says which text is too long for its pattern', async () => {
    const rows = { items: { properties: { note: { pattern: '^[a-z ]+$' } } } }
    const answer = [{ note: 'short' }, { note: 'x'.repeat(900_000) }]
    expect(await issuesOf(rows, answer)).toEqual([['1.note', 'is too large to be checked']])
    const many = repeated({ note: 'x'.repeat(1_000) }, 900)
    expect(await issuesOf(rows, many)).toEqual([['', 'is too large to be checked']])
  })

  it.each([
    ['^(a+)+$', 'a'.repeat(20_000), 'b'],
    ['^[^@]+@[^@]+\\.[^@]+$', `a@${'.'.repeat(20_000)}a`, '@'],
    ['\\s+$', ' '.repeat(50_000), 'x'],
  ])('soon, by a pattern that JavaScript takes long for: %s', async (pattern, text, end) => {
    expect(await issuesOf({ pattern }, text)).toEqual([])
    expect(await issuesOf({ pattern }, `${text}${end}`)).toEqual([['', 'String does not match pattern.']])
  })

  it('and long texts, and names by patterns, are checked as ever', async () => {
    expect(await issuesOf({ maxLength: 5_000_000 }, 'x'.repeat(4_000_000))).toEqual([])
    expect(await issuesOf({ minLength: 2, format: 'email' }, 'x')).toHaveLength(1)
    const named = { patternProperties: { '^a': { type: 'number' } }, additionalProperties: false }
    expect(await issuesOf(named, { a1: 1 })).toEqual([])
    expect(await issuesOf(named, { a1: 'x' })).toHaveLength(1)
    expect(await issuesOf(named, { b: 1 })).toHaveLength(1)
    const closed = { ...named, additionalProperties: undefined, unevaluatedProperties: false }
    expect(await issuesOf(JSON.parse(JSON.stringify(closed)), { a1: 1 })).toEqual([])
    expect(await issuesOf(JSON.parse(JSON.stringify(closed)), { a1: 1, b: 1 })).not.toEqual([])
  })

  it('before the values of a list that is too long are compared', async () => {
    const unique = { type: 'array', uniqueItems: true, maxItems: 3 }
    expect(await issuesOf(unique, [1, 2, 1])).toEqual([['', 'Duplicate items at indexes 0 and 2.']])
    expect(await issuesOf(unique, [1, 2, 3])).toEqual([])
    let reads = 0
    const long = new Proxy(
      Array.from({ length: 300 }, (_, at) => at),
      {
        get: (list, key) => {
          reads += 1
          return Reflect.get(list, key) as unknown
        },
      },
    )
    expect(await issuesOf(unique, long)).toEqual([['', 'Array has too many items (300 > 3).']])
    expect(reads).toBeLessThan(300)
  })
})
