import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Deque } from '../../src/primitives/deque.ts'

describe('Deque', () => {
  it('hands out what an array would', () => {
    const steps = fc.array(fc.constantFrom('push', 'push', 'unshift', 'shift', 'shift'), { maxLength: 500 })
    fc.assert(
      fc.property(steps, (todo) => {
        const line = new Deque<number>()
        const array: number[] = []
        for (const [index, step] of todo.entries()) {
          if (step === 'shift') expect(line.shift()).toBe(array.shift())
          else {
            line[step](index)
            array[step](index)
          }
          expect(line).toHaveLength(array.length)
        }
      }),
    )
  })

  it('packs what a long line has left behind', () => {
    const line = new Deque<number>()
    for (let index = 0; index < 1_000; index += 1) line.push(index)
    for (let index = 0; index < 1_000; index += 1) {
      expect(line.shift()).toBe(index)
      line.push(1_000 + index)
    }
    expect(line).toHaveLength(1_000)
    expect(line.shift()).toBe(1_000)
  })
})
