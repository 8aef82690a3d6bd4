import { describe, expect, it } from 'vitest'
import { SpentTokens } from '../../../src/http/access/spent-tokens.ts'

describe('SpentTokens', () => {
  const until = { expiresAt: 10, now: 0 }
  const refused = expect.objectContaining({ status: 401 }) as Error

  it('lets each be used once, unless the use is given back', () => {
    const spent = new SpentTokens()
    const giveBack = spent.spend('a', until)
    expect(() => spent.spend('a', until)).toThrow(refused)
    spent.spend('b', until)
    giveBack()
    spent.spend('a', until)
    expect(() => spent.spend('a', until)).toThrow(refused)
  })

  it('still knows those that have not expired when there are many', () => {
    const spent = new SpentTokens()
    for (let index = 0; index < 3_000; index++) spent.spend(`${index}`, { expiresAt: index, now: 1_500 })
    for (let index = 1_501; index < 3_000; index++)
      expect(() => spent.spend(`${index}`, until)).toThrow(refused)
  })
})
