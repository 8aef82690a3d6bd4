import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { UnreadChunks } from '../../../src/core/streams/unread-chunks.ts'
import { turn } from '../../support/turn.ts'

function chunk(bytes: number): { readonly value: unknown; readonly text: string; readonly bytes: number } {
  return { value: bytes, text: String(bytes), bytes }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

describe('UnreadChunks', () => {
  it('hands its chunks out in order', () => {
    const unread = new UnreadChunks({ chunks: 10, bytes: 100 })
    for (const bytes of [1, 2, 3]) unread.push(chunk(bytes))
    expect([unread.shift()?.value, unread.shift()?.value, unread.shift()?.value]).toEqual([1, 2, 3])
    expect(unread.shift()).toBeUndefined()
  })

  it('is overfull with more than four histories, by number or by size', () => {
    const many = new UnreadChunks({ chunks: 1, bytes: 1_000 })
    for (let count = 0; count < 4; count += 1) many.push(chunk(1))
    expect(many.isOverfull).toBe(false)
    many.push(chunk(1))
    expect(many.isOverfull).toBe(true)
    many.shift()
    expect(many.isOverfull).toBe(false)
    const large = new UnreadChunks({ chunks: 10, bytes: 10 })
    large.push(chunk(40))
    expect(large.isOverfull).toBe(false)
    large.push(chunk(1))
    expect(large.isOverfull).toBe(true)
  })

  it('is forgotten when its task has dropped the stream', async () => {
    const unread = new UnreadChunks({ chunks: 10, bytes: 100 })
    const held: object[] = [{}]
    held.forEach((stream) => unread.keepWhile(new WeakRef(stream)))
    await turn()
    collectGarbage()
    expect(unread.isForgotten).toBe(false)
    expect(held).toHaveLength(1)
    held.pop()
    await turn()
    collectGarbage()
    expect(unread.isForgotten).toBe(true)
  })
})
