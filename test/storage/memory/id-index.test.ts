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
              index.remove(dropped!)
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

  it('goes on without an item that is taken out', () => {
    const index = new IdIndex<Item>()
    const items = ['a', 'b', 'c'].map((id) => ({ id, isDropped: false }))
    for (const item of items) index.add(item)
    index.takeOut(items[1]!)
    index.takeOut(items[1]!)
    const { records } = pageOfIndexes({ indexes: [index], matches: () => true, page: { limit: 5 } })
    expect([index.size, records.map(({ id }) => id)]).toEqual([2, ['c', 'a']])
  })

  it('finds all within a range of ids, and looks at little else', () => {
    const bound = fc.option(fc.nat(999), { nil: undefined })
    const query = fc.record({ floor: bound, ceiling: bound, cursor: fc.nat(999), towards: fc.nat(2) })
    const idOf = (at: number): string => String(at).padStart(3, '0')
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(999), { maxLength: 100 }), fc.array(query), (given, queries) => {
        const index = new IdIndex<Item>()
        for (const at of given) index.add({ id: idOf(at), isDropped: false })
        for (const { cursor, towards, ...bounds } of queries) {
          const floor = bounds.floor === undefined ? undefined : idOf(bounds.floor)
          const ceiling = bounds.ceiling === undefined ? undefined : idOf(bounds.ceiling)
          const matches = ({ id }: Item): boolean =>
            (floor === undefined || id >= floor) && (ceiling === undefined || id < ceiling)
          const id = idOf(cursor)
          const page = [{ limit: 5 }, { limit: 5, after: id }, { limit: 5, before: id }][towards] ?? {
            limit: 5,
          }
          const bounded = pageOfIndexes({ indexes: [index], matches: () => true, page, floor, ceiling })
          expect(bounded).toEqual(pageOfIndexes({ indexes: [index], matches, page }))
        }
      }),
    )
    const index = new IdIndex<Item>()
    for (let at = 0; at < 1_000; at += 1) index.add({ id: idOf(at), isDropped: false })
    let looks = 0
    const matches = (): boolean => (looks += 1) > 0
    const range = { floor: '500', ceiling: '504' }
    const { records } = pageOfIndexes({ indexes: [index], matches, page: { limit: 10 }, ...range })
    expect(records.map(({ id }) => id)).toEqual(['503', '502', '501', '500'])
    expect(looks).toBe(4)
  })
})
