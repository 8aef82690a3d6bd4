import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMetadataChange } from '../../../src/http/runs/metadata-change.ts'

type Values = Readonly<Record<string, unknown>>

const key = fc.constantFrom('a', 'b', '__proto__', 'toString')
const value = fc.jsonValue({ maxDepth: 1 })
const values = fc.dictionary(key, value, { noNullPrototype: true })

function apply(before: Values, ...operations: readonly unknown[]): Values {
  return readMetadataChange({ operations })(before)
}

describe('readMetadataChange', () => {
  it('changes nothing but what it is told to, and never what was given', () => {
    fc.assert(
      fc.property(values, key, value, (before, name, given) => {
        const text = JSON.stringify(before)
        for (const type of ['set', 'append', 'remove', 'delete']) {
          const after = apply(before, { type, key: name, value: given })
          const others = (all: Values): unknown => Object.entries(all).filter(([other]) => other !== name)
          expect(others(after)).toEqual(others(before))
        }
        expect(JSON.stringify(before)).toBe(text)
      }),
    )
  })

  it('sets what is then there, and deletes what is then gone', () => {
    fc.assert(
      fc.property(values, key, value, (before, name, given) => {
        const set = apply(before, { type: 'set', key: name, value: given })
        expect(Object.getOwnPropertyDescriptor(set, name)?.value).toEqual(given)
        expect(Object.hasOwn(apply(set, { type: 'delete', key: name }), name)).toBe(false)
      }),
    )
  })

  it.each<[before: Values, operation: Values, after: Values]>([
    [{}, { type: 'append', key: 'a', value: 1 }, { a: [1] }],
    [{ a: [1] }, { type: 'append', key: 'a', value: [2] }, { a: [1, [2]] }],
    [{ a: 1 }, { type: 'append', key: 'a', value: 2 }, { a: [1, 2] }],
    [{ a: [{ x: 1, y: 2 }, 3] }, { type: 'remove', key: 'a', value: { y: 2, x: 1 } }, { a: [3] }],
    [{ a: 1 }, { type: 'remove', key: 'a', value: 1 }, { a: 1 }],
    [{}, { type: 'remove', key: 'a', value: 1 }, {}],
    [{}, { type: 'increment', key: 'a', value: 2 }, { a: 2 }],
    [{ a: 1 }, { type: 'increment', key: 'a', value: -2 }, { a: -1 }],
    [{ a: 'x' }, { type: 'increment', key: 'a', value: 2 }, { a: 2 }],
    [{ a: 1 }, { type: 'update', value: { b: 2 } }, { b: 2 }],
    [{ a: 1 }, { type: 'delete', key: 'b' }, { a: 1 }],
  ])('makes %j by %j into %j', (before, operation, after) => {
    expect(apply(before, operation)).toEqual(after)
  })

  it('removes nothing by a value that is too deep to be stored', () => {
    const value = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown
    expect(() => apply({ a: [value] }, { type: 'remove', key: 'a', value })).toThrow('nested deeper')
  })

  it('replaces first, and then does the operations in their order', () => {
    const operations = [
      { type: 'increment', key: 'n', value: 1 },
      { type: 'append', key: 'n', value: 'x' },
    ]
    expect(readMetadataChange({ metadata: { n: 1 }, operations })({ old: 1 })).toEqual({ n: [2, 'x'] })
    expect(readMetadataChange({})({ old: 1 })).toEqual({ old: 1 })
  })

  it.each([
    { metadata: [] },
    { metadata: null },
    { operations: {} },
    { operations: [null] },
    { operations: [{ type: 'rename', key: 'a' }] },
    { operations: [{ type: 'set', key: 'a' }] },
    { operations: [{ type: 'append', key: 'a' }] },
    { operations: [{ type: 'set', value: 1 }] },
    { operations: [{ type: 'set', key: '$.a.b', value: 1 }] },
    { operations: [{ type: 'increment', key: 'a', value: '1' }] },
    { operations: [{ type: 'update', value: [] }] },
    { parentOperations: [] },
  ])('refuses what is no change: %j', (body) => {
    expect(() => readMetadataChange(body)).toThrow(expect.objectContaining({ status: 400 }))
  })
})
