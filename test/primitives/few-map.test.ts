import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FewMap } from '../../src/primitives/few.ts'

const key = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.record({ key, value: fc.option(fc.nat(9), { nil: undefined }), isSet: fc.boolean() })

describe('FewMap', () => {
  it('holds what a map holds, in the same order', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const model = new Map<string, number | undefined>()
        const few = new FewMap<number | undefined>()
        for (const { key, value, isSet } of steps) {
          if (isSet) {
            model.set(key, value)
            few.set(key, value)
          } else {
            model.delete(key)
            few.delete(key)
          }
          expect(few.entries()).toEqual([...model])
          expect(few.size).toBe(model.size)
          for (const name of ['a', 'b', 'c', 'd', '']) {
            expect(few.get(name)).toBe(model.get(name))
          }
        }
      }),
    )
  })

  it('lists what was there when it was asked', () => {
    const few = new FewMap<number>()
    few.set('a', 1)
    few.set('b', 2)
    const listed = few.entries()
    few.delete('a')
    expect(listed).toEqual([
      ['a', 1],
      ['b', 2],
    ])
  })
})
