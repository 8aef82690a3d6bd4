import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Merge } from '../../../src/client/following/merge.ts'
import { rejection } from '../../support/body-task.ts'
import { CountSource, numbers, sourceOf } from '../../support/streams.ts'

/** Everything of all sources, by key. */
async function drain(merge: Merge<string, number>): Promise<Map<string, number[]>> {
  const items = new Map<string, number[]>()
  while (merge.size > 0) {
    const { key, result } = await merge.next()
    const seen = items.get(key) ?? []
    items.set(key, seen)
    if (result.done !== true) seen.push(result.value)
  }
  return items
}

async function* counting(source: CountSource): AsyncGenerator<number> {
  yield* source
}

describe('Merge', () => {
  it('gives every item of every source, those of one in their order', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 20 }), { maxLength: 5 }), async (lengths) => {
        const merge = new Merge<string, number>()
        for (const [index, length] of lengths.entries()) merge.add(`${index}`, sourceOf(...numbers(length)))
        const expected = lengths.map((length, index) => [`${index}`, numbers(length)] as const)
        expect(await drain(merge)).toEqual(new Map(expected))
      }),
    ))

  it('reads one item ahead, and no more', async () => {
    const source = new CountSource()
    const merge = new Merge<string, number>()
    merge.add('a', counting(source))
    for (let item = 0; item < 5; item++) expect((await merge.next()).result.value).toBe(item)
    await new Promise((resolve) => setImmediate(resolve))
    expect(source.produced).toBe(6)
    merge.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect([source.isReturned, merge.size]).toEqual([true, 0])
  })

  it('throws what a source throws', async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1
      throw new Error('no')
    }
    const merge = new Merge<string, number>()
    merge.add('a', failing())
    expect((await merge.next()).result.value).toBe(1)
    expect(await rejection(merge.next())).toEqual(new Error('no'))
  })
})
