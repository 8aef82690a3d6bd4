import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addTo,
  countOf,
  type Few,
  findItem,
  itemsOf,
  removeFrom,
  withItem,
  withoutItem,
} from '../../src/primitives/few.ts'

const items = Array.from({ length: 5 }, (_, name) => ({ name }))
const item = fc.constantFrom(...items)

describe('Few', () => {
  it('holds what a set holds, in the same order', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ item, isAdded: fc.boolean() })), (steps) => {
        const model = new Set<{ name: number }>()
        let few: Few<{ name: number }> = undefined
        for (const step of steps) {
          if (step.isAdded) model.add(step.item)
          else model.delete(step.item)
          few = step.isAdded ? withItem(few, step.item) : withoutItem(few, step.item)
          expect(itemsOf(few)).toEqual([...model])
          expect(countOf(few)).toBe(model.size)
          expect(findItem(few, ({ name }) => name === step.item.name) !== undefined).toBe(
            model.has(step.item),
          )
        }
      }),
    )
  })

  it('goes from a map with its last item', () => {
    const [one, two] = items as [{ name: number }, { name: number }]
    const map = new Map<string, Few<{ name: number }>>()
    addTo(map, 'key', one)
    addTo(map, 'key', two)
    removeFrom(map, 'key', one)
    expect(itemsOf(map.get('key'))).toEqual([two])
    removeFrom(map, 'key', two)
    removeFrom(map, 'other', two)
    expect(map.size).toBe(0)
  })

  it('lists what was there when it was asked', () => {
    const [one, two] = items as [{ name: number }, { name: number }]
    const few = withItem(withItem(undefined, one), two)
    const listed = itemsOf(few)
    withoutItem(few, one)
    expect(listed).toEqual([one, two])
  })
})
