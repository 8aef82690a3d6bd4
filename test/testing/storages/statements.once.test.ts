import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { Statements } from '../../../src/testing/storages/statements.ts'
import { numbers } from '../../support/streams.ts'

describe('Statements', () => {
  it('are under way until they are answered, whatever the answer', async () => {
    const statements = new Statements()
    expect(statements.isUnderWay).toBe(false)
    const answered = createDeferred<number>()
    const refused = createDeferred<number>()
    const watched = [statements.watch(answered.promise), statements.watch(refused.promise)]
    refused.reject(new Error('no'))
    await expect(watched[1]).rejects.toThrow('no')
    expect(statements.isUnderWay).toBe(true)
    answered.resolve(1)
    expect(await watched[0]).toBe(1)
    expect(statements.isUnderWay).toBe(false)
  })

  it('are at rest when all that one has led to is answered, however long the chain', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { maxLength: 5 }), async (chains) => {
        const statements = new Statements()
        let answers = 0
        const ask = async (left: number): Promise<void> => {
          if (left === 0) return
          await statements.watch(new Promise((resolve) => setImmediate(resolve)))
          answers += 1
          await ask(left - 1)
        }
        const asked = chains.map(ask)
        await statements.atRest()
        expect([answers, statements.isUnderWay]).toEqual([chains.reduce((sum, one) => sum + one, 0), false])
        await Promise.all(asked)
      }),
    ))

  it('have ended when those of this moment are answered, though one follows the other for ever', async () => {
    const statements = new Statements()
    let isOver = false
    const ask = async (): Promise<void> => {
      while (!isOver) await statements.watch(new Promise((resolve) => setImmediate(resolve)))
    }
    const asked = ask()
    for (const _ of numbers(3)) await statements.ended()
    expect(statements.isUnderWay).toBe(true)
    isOver = true
    await asked
  })
})
