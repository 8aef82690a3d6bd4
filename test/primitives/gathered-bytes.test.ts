import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GatheredBytes } from '../../src/primitives/gathered-bytes.ts'

const pieces = fc.array(fc.uint8Array({ maxLength: 2_000 }), { maxLength: 30 })

describe('GatheredBytes', () => {
  it('has what came, in its order, once, and room for twice as much at most', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 3 }), (bodies) => {
        const gathered = new GatheredBytes()
        for (const body of bodies) {
          for (const piece of body) {
            gathered.add(piece)
            expect(gathered.capacity).toBeLessThanOrEqual(Math.max(2 * gathered.size, 1_024))
          }
          const all = Buffer.concat(body)
          expect(gathered.size).toBe(all.length)
          expect(Buffer.from(gathered.take())).toEqual(all)
        }
      }),
    )
  })

  it('takes a million pieces of a byte in no time', () => {
    const gathered = new GatheredBytes()
    const piece = new Uint8Array([7])
    for (let count = 0; count < 1_000_000; count += 1) gathered.add(piece)
    expect([gathered.size, gathered.capacity]).toEqual([1_000_000, 1_048_576])
  })
})
