import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecentSizes } from '../../src/primitives/recent-sizes.ts'

describe('RecentSizes', () => {
  it('knows the sum of the last sixteen, however many there were', () =>
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1_000 }), { maxLength: 100 }), (added) => {
        const sizes = new RecentSizes()
        for (const bytes of added) sizes.add(bytes)
        for (let count = 0; count <= Math.min(16, added.length); count++) {
          const last = added.slice(added.length - count)
          expect(sizes.ofLast(count)).toBe(last.reduce((sum, bytes) => sum + bytes, 0))
        }
      }),
    ))

  it('does not pretend to know more', () => {
    const sizes = new RecentSizes()
    for (let index = 0; index < 40; index++) sizes.add(1)
    expect([sizes.ofLast(16), sizes.ofLast(17), sizes.ofLast(0), sizes.ofLast(-1)]).toEqual([
      16,
      Infinity,
      0,
      0,
    ])
  })
})
