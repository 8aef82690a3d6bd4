import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isBefore, NOWHERE, type Ordered, OrderedHeap } from '../../src/primitives/ordered-heap.ts'

describe('OrderedHeap', () => {
  it('has the first in line at the front, whatever joins and leaves', () => {
    const step = fc.record({ rank: fc.nat(1), at: fc.nat(20), leaves: fc.option(fc.nat(), { freq: 2 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (program) => {
        const heap = new OrderedHeap<Ordered>()
        const inside: Ordered[] = []
        for (const [order, { rank, at, leaves }] of program.entries()) {
          const item = { rank, at, order, place: NOWHERE }
          heap.add(item)
          inside.push(item)
          if (leaves !== null) {
            const [left] = inside.splice(leaves % inside.length, 1)
            heap.remove(left!)
            expect(left?.place).toBe(NOWHERE)
          }
          expect(heap.first).toBe([...inside].sort(inLine)[0])
        }
        for (const next of inside.sort(inLine)) {
          expect(heap.first).toBe(next)
          heap.remove(next)
        }
        expect(heap.first).toBeUndefined()
      }),
    )
  })
})

function inLine(one: Ordered, other: Ordered): number {
  return isBefore(one, other) ? -1 : 1
}
