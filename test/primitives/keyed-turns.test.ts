import { describe, expect, it } from 'vitest'
import { KeyedTurns } from '../../src/primitives/keyed-turns.ts'

describe('KeyedTurns', () => {
  it('lets one after the other have the same thing, and others theirs meanwhile', async () => {
    const turns = new KeyedTurns()
    const log: string[] = []
    const body = (name: string) => async (): Promise<string> => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
      return name
    }
    const answers = [turns.take('x', body('1')), turns.take('x', body('2')), turns.take('y', body('3'))]
    expect(await Promise.all(answers)).toEqual(['1', '2', '3'])
    expect(log.indexOf('1 ends')).toBeLessThan(log.indexOf('2 begins'))
    expect(log.indexOf('3 begins')).toBeLessThan(log.indexOf('1 ends'))
  })

  it('goes on after one that failed', async () => {
    const turns = new KeyedTurns()
    const failure = new Error('no luck')
    const failed = turns.take('x', () => Promise.reject(failure))
    const next = turns.take('x', () => Promise.resolve(2))
    await expect(failed).rejects.toBe(failure)
    expect(await next).toBe(2)
    expect(await turns.take('x', () => Promise.resolve(3))).toBe(3)
  })
})
