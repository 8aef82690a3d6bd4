import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inNextTurn } from '../../../src/clock/macrotask-turn.ts'
import { Portions } from '../../../src/core/host/portions.ts'

const PORTION = 524_288

/** Portions on a host with turns, which are counted. */
function counted(): { readonly portions: Portions; readonly turn: () => number } {
  let turn = 0
  const clock = { isTurnDue: () => false } as never
  const afterTurn = (_label: string, goOn: () => void): void => {
    inNextTurn(() => {
      turn += 1
      goOn()
    })
  }
  return { portions: new Portions({ clock, afterTurn }), turn: () => turn }
}

describe('Portions', () => {
  it('lets go on in one turn what fits, or one that is larger, in the order of the calls', async () => {
    const sizes = fc.array(fc.integer({ min: 8_193, max: 3 * PORTION }), { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(sizes, async (given) => {
        const { portions, turn } = counted()
        const done = new Map<number, number[]>()
        const order: number[] = []
        // All of them ask before the first has done anything.
        await Promise.all(
          given.map(async (size, index) => {
            await portions.take(size)
            order.push(index)
            done.set(turn(), [...(done.get(turn()) ?? []), size])
          }),
        )
        expect(order).toEqual(given.map((_, index) => index))
        for (const sizesOfTurn of done.values())
          expect(sizesOfTurn.slice(0, -1).reduce((sum, size) => sum + size, 0)).toBeLessThan(PORTION)
      }),
      { numRuns: 50 },
    )
  })

  it('lets small values pass, also while large ones wait', () => {
    const { portions } = counted()
    for (let count = 0; count < 3; count++) void portions.take(PORTION)
    expect(portions.take(8_192)).toBeUndefined()
    expect(portions.take(8_193)).toBeInstanceOf(Promise)
  })

  it('has no turns on a clock without them', () => {
    const afterTurn = (): void => expect.unreachable()
    const portions = new Portions({ clock: {} as never, afterTurn })
    for (let count = 0; count < 3; count++) expect(portions.take(PORTION)).toBeUndefined()
  })
})
