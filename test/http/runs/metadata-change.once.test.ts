import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMetadataChange } from '../../../src/http/runs/metadata-change.ts'

type Values = Readonly<Record<string, unknown>>

const key = fc.constantFrom('a', 'b', '__proto__', 'toString')
const value = fc.jsonValue({ maxDepth: 1 })
const values = fc.dictionary(key, value, { noNullPrototype: true })

const SEED = 7

function apply(before: Values, ...operations: readonly unknown[]): Values {
  return changed(before, { operations })
}

function changed(before: Values, change: Values): Values {
  return Object.fromEntries(readMetadataChange(change)(new Map(Object.entries(before)), SEED))
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

  it.each([
    ['keys that are set', (n: number) => ({ type: 'set', key: `k${n}`, value: n })],
    ['items that are appended', (n: number) => ({ type: 'append', key: 'list', value: n })],
    ['items that are removed', (n: number) => ({ type: 'remove', key: 'numbers', value: { n } })],
    ['keys that are deleted', (n: number) => ({ type: 'delete', key: `before${n}` })],
  ] as const)('takes no longer for each of many %s than for the first', (_, operation) => {
    const many = Array.from({ length: 60_000 }, (_each, n) => n)
    const before = {
      ...Object.fromEntries(many.map((n) => [`before${n}`, n])),
      numbers: many.map((n) => ({ n })),
    }
    // Some seconds suffice for work in proportion to their number, not for its square.
    const after = apply(before, ...many.slice(0, 10_000).map(operation))
    expect(Object.keys(after).length).toBeGreaterThan(0)
  })

  it('takes 10,000 operations at once, and no more', () => {
    const operations = Array.from({ length: 10_001 }, () => ({ type: 'delete', key: 'a' }))
    expect(() => readMetadataChange({ operations })).toThrow(expect.objectContaining({ status: 413 }))
  })

  it('finds an item among many by reading each of them once', () => {
    let reads = 0
    const item = (n: number): unknown =>
      Object.defineProperty({}, 'n', { enumerable: true, get: () => (reads++, n) })
    const before = { list: Array.from({ length: 1_000 }, (_, n) => item(n)) }
    const operations = Array.from({ length: 500 }, (_, n) => ({
      type: 'remove',
      key: 'list',
      value: { n: 2 * n },
    }))
    expect(apply(before, ...operations)['list']).toHaveLength(500)
    expect(reads).toBeLessThan(3_000)
  })

  it('removes what was appended by the operations before', () => {
    const operations = [
      { type: 'remove', key: 'a', value: 1 },
      { type: 'append', key: 'a', value: 1 },
      { type: 'append', key: 'a', value: { x: 1, y: [] } },
      { type: 'remove', key: 'a', value: { y: [], x: 1 } },
      { type: 'append', key: 'a', value: 3 },
    ]
    expect(apply({ a: [1, 2, 1] }, ...operations)).toEqual({ a: [2, 1, 3] })
  })

  it('replaces first, and then does the operations in their order', () => {
    const operations = [
      { type: 'increment', key: 'n', value: 1 },
      { type: 'append', key: 'n', value: 'x' },
    ]
    expect(changed({ old: 1 }, { metadata: { n: 1 }, operations })).toEqual({ n: [2, 'x'] })
    expect(changed({ old: 1 }, {})).toEqual({ old: 1 })
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
