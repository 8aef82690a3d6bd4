import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage, task } from 'waitpoint'

const greet = task({ id: 'greet', run: (name: string) => `hello ${name}` })

describe('requireJoining', () => {
  it('refuses a trigger in a transaction where the storage has none, and stores nothing', async () => {
    await using engine = createEngine({ tasks: [greet], storage: memoryStorage() })
    await expect(engine.trigger(greet, 'ada', { transaction: {} })).rejects.toMatchObject({
      code: 'ERR_TRANSACTION_UNSUPPORTED',
      message: expect.stringMatching(/^Cannot trigger task "greet" in a transaction: /) as string,
    })
    expect((await engine.runs.list()).data).toEqual([])
  })

  it('refuses a completion in a transaction where the storage has none, and completes nothing', async () => {
    await using engine = createEngine({ storage: memoryStorage() })
    const token = await engine.wait.createToken()
    const completing = engine.wait.completeToken(token, 1, { transaction: {} })
    await expect(completing).rejects.toMatchObject({ code: 'ERR_TRANSACTION_UNSUPPORTED' })
    expect(await engine.wait.retrieveToken(token)).toMatchObject({ status: 'WAITING' })
  })

  it('refuses a misspelt option of a completion', async () => {
    await using engine = createEngine({ storage: memoryStorage() })
    const token = await engine.wait.createToken()
    await expect(engine.wait.completeToken(token, 1, { tx: {} } as object)).rejects.toThrow(
      'there is no option "tx"; use transaction',
    )
  })
})
