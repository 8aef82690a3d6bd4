import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/define-task.ts'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'

const review = task({
  id: 'review',
  run: async (_payload: null, { wait }) => {
    const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
    return wait.forToken(token).unwrap()
  },
})

describe('t.post', () => {
  it('completes a token by its URL, without a port', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, null)
    const { url } = await t.waitingToken({ tag: 'review' })
    const response = await t.post(url, { approved: true })
    expect([response.status, await response.json()]).toEqual([200, { success: true, status: 'COMPLETED' }])
    expect(await run.result()).toEqual({ approved: true })
  })

  it('posts no body when there is none', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, null)
    await t.post((await t.waitingToken({ tag: 'review' })).url)
    expect(await run.result()).toEqual({})
  })

  it('answers what the handler answers to a wrong URL', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    await t.engine.trigger(review, null)
    const { url } = await t.waitingToken({ tag: 'review' })
    expect((await t.post(`${url}0`, {})).status).toBe(401)
  })
})
