import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SequenceRanges } from '../../src/primitives/sequence-ranges.ts'

describe('SequenceRanges', () => {
  it('answers like a sorted list, whatever is added, dropped and shifted', () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ drop: fc.integer({ min: -2, max: 12 }) }),
      fc.record({ shift: fc.integer({ min: 1, max: 3 }), last: fc.integer({ min: 0, max: 6 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const ranges = new SequenceRanges()
        let list: number[] = []
        let last = -1
        for (const given of steps) {
          if ('add' in given) {
            last += given.add
            list.push(last)
            ranges.add(last)
          } else if ('shift' in given) {
            const from = last + 1 - given.last
            list = list.map((sequence) => (sequence < from ? sequence : sequence + given.shift))
            ranges.shift(from, given.shift)
            last += given.shift
          } else {
            const limit = (list[0] ?? last) + given.drop
            const kept = list.filter((sequence) => sequence >= limit)
            expect(ranges.dropBefore(limit)).toBe(list.length - kept.length)
            list = kept
          }
          const gap = list.findIndex((sequence, index) => sequence !== list[0]! + index)
          expect(ranges.first).toBe(list[0])
          expect(ranges.endOfRow).toBe(list.length === 0 ? 0 : list[0]! + (gap < 0 ? list.length : gap))
          expect(ranges.rows).toBe(list.filter((sequence) => !list.includes(sequence - 1)).length)
        }
      }),
    )
  })

  it('goes on after everything was dropped', () => {
    const ranges = new SequenceRanges()
    ranges.add(0)
    ranges.add(1)
    expect(ranges.dropBefore(9)).toBe(2)
    expect(ranges.first).toBeUndefined()
    ranges.add(2)
    expect([ranges.first, ranges.endOfRow]).toEqual([2, 3])
  })

  it('drops a hundred thousand single ones one by one in no time', () => {
    const ranges = new SequenceRanges()
    for (let sequence = 0; sequence < 200_000; sequence += 2) ranges.add(sequence)
    let dropped = 0
    for (let sequence = 0; sequence < 200_000; sequence += 2) dropped += ranges.dropBefore(sequence + 1)
    expect([dropped, ranges.first]).toEqual([100_000, undefined])
  })
})
