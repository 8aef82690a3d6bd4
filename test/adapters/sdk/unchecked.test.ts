import { describe, expect, it } from 'vitest'
import { isLeftOut, unchecked } from '../../../src/adapters/sdk/unchecked.ts'

describe('unchecked', () => {
  it('leaves out as many checks as there are runs of the task, and none of what follows from them', async () => {
    const left = await unchecked('a', 2, async () => {
      const first = [isLeftOut('b'), isLeftOut('a')]
      await Promise.resolve()
      return [...first, isLeftOut('a'), isLeftOut('a'), isLeftOut('b')]
    })
    expect(left).toEqual([false, true, true, false, false])
    expect(isLeftOut('a')).toBe(false)
  })
})
