import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'

/** The order in which runs with these priorities go on in one slot, if their answers come in this order while it is taken. */
async function orderOf(priorities: readonly number[]): Promise<readonly number[]> {
  const order: number[] = []
  const work = task({
    id: 'work',
    run: async (token: string, { ctx }) => {
      if (token !== '') {
        await wait.forToken(token)
        order.push(ctx.run.priority ?? 0)
      }
      await t.clock.sleep('1m')
    },
  })
  await using t = await createTestEngine({ tasks: [work], concurrency: 1, clock: { mode: 'manual' } })
  const tokens: string[] = []
  for (const priority of priorities) {
    const { id } = await t.engine.wait.createToken({ timeout: '1d' })
    tokens.push(id)
    await t.engine.trigger(work, id, { priority })
    await t.clock.settle()
  }
  await t.engine.trigger(work, '')
  await t.clock.settle()
  for (const token of tokens) await t.engine.wait.completeToken(token)
  await t.clock.advance('1h')
  return order
}

describe('runs that can go on', () => {
  it('go on in the order of their answers, if they are of one priority', async () => {
    expect(await orderOf([0, 0, 0])).toEqual([0, 0, 0])
  })

  // Today they stand in line by their answers alone, whatever their priority.
  it.fails('go on by their priority first', async () => {
    expect(await orderOf([0, 100, 50])).toEqual([100, 50, 0])
  })
})
