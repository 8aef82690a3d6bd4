import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeValue, encodeValue } from '../../../src/adapters/sdk/values.ts'
import { measureJson } from '../../../src/primitives/json.ts'

/** Values that a task may have as payload and output. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.date({ noInvalidDate: true }),
    fc.bigInt(),
    fc.array(tie('value')),
    fc.array(fc.tuple(fc.string(), tie('value'))).map((entries) => new Map(entries)),
    fc.array(fc.oneof(fc.string(), fc.integer())).map((items) => new Set(items)),
    fc.dictionary(
      fc.string().filter((key) => !['__proto__', 'constructor', 'prototype'].includes(key)),
      fc.oneof(tie('value'), fc.constant(undefined)),
      { noNullPrototype: true },
    ),
  ),
})).value

/** As a storage has it. */
const stored = (value: unknown): unknown => {
  const encoded = encodeValue(value)
  return encoded === undefined ? undefined : (JSON.parse(JSON.stringify(encoded)) as unknown)
}

describe('a value', () => {
  it('comes back as it was, through any storage', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(decodeValue(stored(value))).toStrictEqual(value)
      }),
    )
  })

  it('is JSON when it is stored', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(measureJson(encodeValue(value))).toBeGreaterThan(0)
      }),
    )
  })

  it.each([
    ['a text', 'text'],
    ['nothing', undefined],
    ['null', null],
    ['plain data', { a: [1, 'b', { c: null }] }],
  ])('that is %s is stored as it is', (_what, value) => {
    expect(encodeValue(value)).toEqual(value)
  })

  it('that looks like a stored one is no exception', () => {
    const value = { $superjson: { json: '1970-01-01T00:00:00.000Z', meta: { values: ['Date'] } } }
    expect(decodeValue(stored(value))).toStrictEqual(value)
  })

  it('that holds bytes gets them back', () => {
    expect(decodeValue(stored({ file: Buffer.from('text') }))).toStrictEqual({ file: Buffer.from('text') })
  })
})
