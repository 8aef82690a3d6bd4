import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdIndex, pageOfIndexes } from '../../../src/storage/memory/id-index.ts'

interface Item {
  readonly id: string
  isDropped: boolean
}

describe('IdIndex', () => {
  it('pages through what a sorted list would, whatever came in what order and was dropped', () => {
    const step = fc.record({ id: fc.nat(500), drops: fc.option(fc.nat(), { freq: 2 }) })
    const page = fc.record({ limit: fc.integer({ min: 1, max: 5 }), cursor: fc.nat(500), towards: fc.nat(2) })
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 200, maxLength: 400, size: 'max' }),
        fc.array(page),
        (steps, pages) => {
          const index = new IdIndex<Item>()
          const kept: Item[] = []
          for (const { id, drops } of steps) {
            const item = { id: String(id).padStart(3, '0'), isDropped: false }
            if (!kept.some((other) => other.id === item.id)) {
              index.add(item)
              kept.push(item)
            }
            if (drops !== null && kept.length > 0) {
              const [dropped] = kept.splice(drops % kept.length, 1)
              dropped!.isDropped = true
              index.remove()
            }
          }
          expect(index.size).toBe(kept.length)
          const newestFirst = kept
            .map((item) => item.id)
            .sort()
            .reverse()
          for (const { limit, cursor, towards } of pages) {
            const id = String(cursor).padStart(3, '0')
            const request = [{ limit }, { limit, after: id }, { limit, before: id }][towards] ?? { limit }
            const { records, next, previous } = pageOfIndexes({
              indexes: [index],
              matches: () => true,
              page: request,
            })
            const ids = records.map((item) => item.id)
            const older = newestFirst.filter((one) => one < id)
            const newer = newestFirst.filter((one) => one > id)
            expect(ids).toEqual(
              [newestFirst.slice(0, limit), older.slice(0, limit), newer.slice(-limit)][towards],
            )
            expect(next).toBe(ids.length > 0 && ids.at(-1) !== newestFirst.at(-1) ? ids.at(-1) : undefined)
            expect(previous).toBe(
              ids.length > 0 && ids[0] !== newestFirst[0] && towards > 0 ? ids[0] : undefined,
            )
          }
        },
      ),
    )
  })
})
