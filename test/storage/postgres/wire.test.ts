import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromWire, toWire } from '../../../src/storage/postgres/wire.ts'

/** Whatever a JavaScript string may hold: halves of pairs, and the character Postgres has no room for. */
const text = fc.string({
  unit: fc.constantFrom('a', '\0', '\u0001', '\ud800', '\udc00', '\\u0000', '"', 'é', '🎈'),
})

describe('toWire', () => {
  it('writes nothing that Postgres cannot keep, and what is read back is what was given', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ id: text, tags: fc.array(text) })), (requests) => {
        const wire = toWire(requests)
        const kept: unknown = JSON.parse(wire)
        expect(JSON.stringify(kept)).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/)
        expect(fromWire(wire)).toEqual(requests)
      }),
    )
  })

  it('escapes the names in an object as it does texts', () => {
    const names = ['plain', 'a\0', '\ud800', '\u0001b']
    const wire = toWire([Object.fromEntries(names.map((one) => [one, 1])), names])
    const [asNames, asTexts] = JSON.parse(wire) as [object, string[]]
    expect(Object.keys(asNames)).toEqual(asTexts)
  })

  it('leaves plain texts as they are, so that they can be searched for', () => {
    expect(toWire(['plain', 'naïve 🎈'])).toBe('["plain","naïve 🎈"]')
  })
})
