import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findNonJson, JsonText, measureJson } from '../../src/primitives/json.ts'

/** What a JSON-safe value is after a trip through its text. */
function afterTrip(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Number || value instanceof String || value instanceof Boolean)
    return afterTrip(value.valueOf())
  if (Array.isArray(value)) return value.map(afterTrip)
  if (typeof value === 'object' && value !== null) {
    const kept = Object.entries(value).filter(([, property]) => property !== undefined)
    return Object.fromEntries(kept.map(([key, property]) => [key, afterTrip(property)]))
  }
  return Object.is(value, -0) ? 0 : value
}

function nested(depth: number): unknown {
  let value: unknown = []
  for (let level = 1; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** Everything fast-check can think of: NaN, bigints, maps, typed arrays, holes, boxed values, invalid dates … */
const anything = fc.anything({
  maxDepth: 4,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withSparseArray: true,
  withNullPrototype: true,
  withObjectString: true,
})

/** Mostly JSON, so that whole values are often safe, with a rare intruder. */
const { nearlyJson } = fc.letrec<{ nearlyJson: unknown }>((tie) => ({
  nearlyJson: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'nearly' },
    { weight: 20, arbitrary: fc.jsonValue() },
    { weight: 5, arbitrary: fc.date() },
    {
      weight: 1,
      arbitrary: fc.constantFrom(undefined, NaN, Infinity, 1n, Symbol('s'), () => 1, new Map(), /x/),
    },
    { weight: 10, arbitrary: fc.array(tie('nearlyJson'), { maxLength: 4 }) },
    { weight: 10, arbitrary: fc.dictionary(fc.string(), fc.option(tie('nearlyJson'), { nil: undefined })) },
  ),
}))

function fail(message: string): never {
  throw new Error(message)
}

class Point {
  readonly x = 1
  readonly #hidden = 2
  get y(): number {
    return this.#hidden
  }
}

class Optional {
  readonly x: number | undefined = undefined
}

class Account {
  readonly #balance = 5
  get balance(): number {
    return this.#balance
  }
}

/** Objects of which JSON would keep nothing, by their types. */
const withoutFields: readonly (readonly [type: string, value: unknown])[] = [
  ['Response', new Response('the body')],
  ['Request', new Request('http://waitpoint.invalid/')],
  ['Headers', new Headers({ a: 'b' })],
  ['URLSearchParams', new URLSearchParams('a=1')],
  ['FormData', new FormData()],
  ['Blob', new Blob(['x'])],
  ['ReadableStream', new ReadableStream()],
  ['WritableStream', new WritableStream()],
  ['TransformStream', new TransformStream()],
  ['AbortSignal', new AbortController().signal],
  ['Intl.NumberFormat', new Intl.NumberFormat()],
  [
    'Generator',
    (function* () {
      yield 1
    })(),
  ],
  ['AsyncGenerator', (async function* () {})()],
  ['Map Iterator', new Map([[1, 2]]).values()],
  ['Array Iterator', [1][Symbol.iterator]()],
  ['Generator', runInNewContext('(function* () { yield 1 })()')],
  ['Set Iterator', runInNewContext('new Set([1]).values()')],
  ['Account', new Account()],
  ['Purse', runInNewContext('new (class Purse { #coins = 5 })()')],
  ['Account', new Proxy(new Account(), {})],
  ['Object', Object.create({ inherited: 1 })],
]

const throwing = {
  get inside(): never {
    return fail('no entry')
  },
}
const cycle: Record<string, unknown> = { list: [] }
cycle['list'] = [1, { back: cycle }]
const revoked = Proxy.revocable({}, {})
revoked.revoke()

describe('measureJson', () => {
  it('accepts every JSON value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => measureJson(value) > 0))
  })

  it('accepts exactly what findNonJson finds nothing wrong with', () => {
    fc.assert(
      fc.property(
        fc.oneof(anything, nearlyJson),
        (value) => measureJson(value) >= 0 === (findNonJson(value) === undefined),
      ),
      { numRuns: 2_000 },
    )
  })

  it('accepts only what is the same after a trip through its text', () => {
    fc.assert(
      fc.property(fc.oneof(anything, nearlyJson), (value) => {
        fc.pre(measureJson(value) >= 0)
        expect(JSON.parse(JSON.stringify(value))).toEqual(afterTrip(value))
      }),
      { numRuns: 2_000 },
    )
  })

  it('is at least as large as the text, and larger for a value with more in it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(measureJson([one, other])).toBeGreaterThan(measureJson(one) + measureJson(other))
        expect(measureJson({ one, other })).toBeGreaterThan(measureJson({ one }))
      }),
    )
    expect(measureJson('x'.repeat(1_000))).toBeGreaterThanOrEqual(2_000)
    expect(measureJson({ ['x'.repeat(1_000)]: 1 })).toBeGreaterThanOrEqual(2_000)
  })

  it.each([
    ['a property that is undefined', { a: undefined }],
    ['a class instance', new Point()],
    ['a class instance whose only field is undefined', new Optional()],
    [
      'a function that is only inherited',
      Object.create({ inherited: fail }, { own: { value: 1, enumerable: true } }),
    ],
    ['a plain object', {}],
    ['a plain object of another realm', runInNewContext('({})')],
    ['an array of another realm', runInNewContext('[]')],
    ['an array of a class', new (class extends Array {})()],
    ['an object without a prototype', Object.create(null)],
    ['a class instance of another realm', runInNewContext('new (class { x = 1 })()')],
    ['a proxy of a plain object', new Proxy({}, {})],
    ['an own property named __proto__', JSON.parse('{"__proto__":{"a":1}}')],
    ['a date', new Date(0)],
    ['a URL', new URL('http://waitpoint.invalid/')],
    ['an object that is itself its JSON', { toJSON: (): object => ({ toJSON: 1 }) }],
    ['1,000 levels', nested(1_000)],
  ])('accepts %s', (_, value) => {
    expect(measureJson(value)).toBeGreaterThan(0)
    expect(findNonJson(value)).toBeUndefined()
  })

  it('accepts an object that is reached by many paths', () => {
    const shared = { a: [1] }
    expect(measureJson([shared, { shared, again: shared }])).toBeGreaterThan(0)
    expect(findNonJson([shared, { shared, again: shared }])).toBeUndefined()
  })

  it('measures what toJSON answers', () => {
    const text = 'x'.repeat(100)
    expect(measureJson({ toJSON: () => text, large: text.repeat(10) })).toBe(measureJson(text))
  })

  it('reads what is nested deeply once', () => {
    let reads = 0
    const deep = (levels: number): unknown => {
      const inner = levels === 0 ? 1 : deep(levels - 1)
      return Object.defineProperty({}, 'a', { enumerable: true, get: () => (reads++, inner) })
    }
    expect(measureJson(Array.from({ length: 10 }, () => deep(900)))).toBeGreaterThan(0)
    expect(reads).toBe(10 * 901)
  })

  it('knows a cycle without going round it many times', () => {
    let reads = 0
    const value = { counted: {}, self: {} }
    Object.defineProperty(value, 'counted', { enumerable: true, get: () => ++reads })
    value.self = value
    expect(measureJson(value)).toBe(-1)
    expect(reads).toBeLessThan(100)
  })
})

describe('findNonJson', () => {
  it.each<[reason: string, path: string, value: unknown]>([
    ['undefined', '$', undefined],
    ['NaN', '$', NaN],
    ['-Infinity', '$', -Infinity],
    ['a bigint', '$', 10n],
    ['a symbol', '$', Symbol('s')],
    ['a function', '$', (): number => 1],
    ['a bigint', '$.a[2].b', { a: [0, 1, { b: 10n }] }],
    ['a function', '$.run', { run: (): number => 1 }],
    ['NaN', '$["not a name"]["0"]', { 'not a name': { 0: NaN } }],
    ['undefined, or missing, in an array', '$[1]', [1, undefined]],
    // eslint-disable-next-line no-sparse-arrays -- the hole is what is tested
    ['undefined, or missing, in an array', '$[1]', [1, , 3]],
    ['a cycle: the object at $ again', '$.list[1].back', cycle],
    ['an invalid Date', '$.at', { at: new Date(NaN) }],
    ['of type Map', '$', new Map()],
    ['of type Set', '$', new Set()],
    ['of type WeakMap', '$', new WeakMap()],
    ['of type Promise', '$', Promise.resolve()],
    ['of type ArrayBuffer', '$', new ArrayBuffer(1)],
    ['of type Float64Array', '$', new Float64Array(1)],
    ['of type Error', '$', new TypeError('no')],
    ['of type RegExp', '$', /x/],
    ['of type BigInt', '$', Object(1n)],
    ['NaN', '$', Object(NaN)],
    ['throws "no entry"', '$.inside', throwing],
    ['throws "Cannot perform \'get\' on a proxy that has been revoked"', '$', revoked.proxy],
    ['undefined, or missing, in an array', '$[0]', [{ toJSON: () => undefined }]],
    ['of type Map', '$', { toJSON: () => new Map() }],
    ['throws "not now"', '$.a', { a: { toJSON: () => fail('not now') } }],
  ])('says "%s" at %s', (reason, path, value) => {
    expect(findNonJson(value)).toEqual({ path, reason })
    expect(measureJson(value)).toBe(-1)
  })

  it.each(withoutFields)('refuses what JSON would make {} of: %s', (type, value) => {
    const reason = `of type ${type}, without fields of its own`
    for (const [path, held] of [
      ['$', value],
      ['$.a[1]', { a: [1, value] }],
      ['$', { toJSON: () => value }],
    ] as const) {
      expect(findNonJson(held)).toEqual({ path, reason })
      expect(measureJson(held)).toBe(-1)
    }
  })

  it.each([
    ['Map', 'new Map()'],
    ['Error', 'new Error("no")'],
    ['RegExp', '/x/'],
    ['Promise', 'Promise.resolve()'],
    ['Uint8Array', 'new Uint8Array(1)'],
  ])('refuses a %s of another realm', (type, code) => {
    expect(findNonJson([runInNewContext(code)])).toEqual({ path: '$[0]', reason: `of type ${type}` })
  })

  it.each([1_001, 100_000])('refuses a value nested %d levels deep', (depth) => {
    expect(findNonJson(nested(depth))?.reason).toBe('nested deeper than 1,000 levels')
    expect(measureJson(nested(depth))).toBe(-1)
  })

  it('refuses an object whose toJSON goes ever deeper', () => {
    const endless = { toJSON: (): object => ({ deeper: { ...endless } }) }
    expect(findNonJson(endless)?.reason).toBe('nested deeper than 1,000 levels')
    expect(measureJson(endless)).toBe(-1)
  })
})

describe('JsonText', () => {
  it('gives the value of a text and the text of a value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(JsonText.ofText(text).value).toEqual(JSON.parse(text))
        expect(JsonText.ofValue(value, measureJson(value)).text).toBe(text)
      }),
    )
  })

  it('gives each caller an object of its own, and keeps what the object was', () => {
    const object = { a: 1 }
    for (const stored of [JsonText.ofText('{"a":1}'), JsonText.ofValue(object, 24)]) {
      object.a = 2
      Object.assign(stored.value as object, { a: 3 })
      expect(stored.value).toEqual({ a: 1 })
      expect(stored.text).toBe('{"a":1}')
      object.a = 1
    }
  })

  it('shares a long string', () => {
    const text = 'x'.repeat(1_000)
    const stored = JsonText.ofText(JSON.stringify(text))
    expect(stored.value).toBe(text)
    expect(JsonText.ofValue(text, measureJson(text)).value).toBe(text)
  })

  it('parses null like any other value', () => {
    expect(JsonText.ofText('null').value).toBeNull()
  })

  it('turns an object into text once', () => {
    let asked = 0
    const boxed = JsonText.ofValue({ toJSON: () => ++asked }, 8)
    expect([boxed.value, boxed.text, boxed.text]).toEqual([1, '1', '1'])
  })

  it('knows its bytes from either side', () => {
    expect(JsonText.ofValue([1], 24).bytes).toBe(24)
    expect(JsonText.ofText('[1]').bytes).toBe(measureJson('[1]'))
  })
})
