import { describe, expect, it } from 'vitest'
import { once, task, wait, type WaitResult } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'

const START = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000

describe('an approval', () => {
  const mails: string[] = []
  const review = task({
    id: 'review',
    run: async ({ doc }: { doc: string }) => {
      const token = await wait.createToken({ timeout: '24h', tags: ['review', doc] })
      await once('mail', () => void mails.push(token.url))
      const result: WaitResult<{ approved: boolean; by: string }> = await wait.forToken(token)
      return result.ok ? `${doc}: ${result.output.by}` : `${doc}: nobody`
    },
  })

  it('continues with an answer that comes hours later', async () => {
    mails.length = 0
    await using t = await createTestEngine({ tasks: [review], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(review, { doc: 'd1' })
    await t.clock.advance('23h')
    expect(mails).toHaveLength(1)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'WAITING', isWaiting: true })

    const { data } = await t.engine.wait.listTokens({ status: 'WAITING', tags: 'd1' })
    expect(data).toMatchObject([{ url: mails[0], tags: ['review', 'd1'] }])
    await t.engine.wait.completeToken(data[0]!, { approved: true, by: 'Ada' })
    expect(await run.result()).toBe('d1: Ada')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ attemptCount: 1, waitingOn: [] })
  })

  it('goes on without one at its deadline, to the millisecond', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, { doc: 'd1' })
    expect(await run.result()).toBe('d1: nobody')
    const { finishedAt } = await t.engine.runs.retrieve(run.id)
    expect(finishedAt).toEqual(new Date(START + DAY_MS))
  })

  it('is one of many: each answer reaches its own run', async () => {
    await using t = await createTestEngine({ tasks: [review], clock: { mode: 'manual' } })
    const docs = Array.from({ length: 50 }, (_, index) => `d${index}`)
    const runs = await Promise.all(docs.map((doc) => t.engine.trigger(review, { doc })))
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject({ attempts: 50, executing: 0, waits: 50 })
    for (const doc of [...docs].reverse()) {
      const { data } = await t.engine.wait.listTokens({ tags: doc })
      await t.engine.wait.completeToken(data[0]!, { approved: true, by: doc })
    }
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(docs.map((doc) => `${doc}: ${doc}`))
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })
})
