import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/define-task.ts'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'
import { cases } from '../support/cases.ts'

const START = Date.UTC(2000, 0, 1)
const HOUR_MS = 3_600_000

const review = task({
  id: 'review',
  run: async (payload: { pauseMs: number; tag?: string }, { wait }) => {
    if (payload.pauseMs > 0) await wait.until({ date: new Date(START + payload.pauseMs) })
    const token = await wait.createToken({ timeout: '24h', tags: [payload.tag ?? 'review'] })
    const result = await wait.forToken(token)
    return result.ok ? result.output : 'timed out'
  },
})

describe('t.complete', () => {
  it('wins until the millisecond before the deadline, whenever it comes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -2, max: 2 }),
        fc.integer({ min: 0, max: 5 }),
        async (by, pauseMs) => {
          await using t = await createTestEngine({ tasks: [review] })
          const run = await t.engine.trigger(review, { pauseMs })
          const token = await t.waitingToken({ tag: 'review' })
          const at = new Date(START + pauseMs + 24 * HOUR_MS + by)
          const { success } = await t.complete(token, 'yes', { at })
          expect(success).toBe(by < 0)
          expect(await run.result()).toBe(success ? 'yes' : 'timed out')
          expect(t.clock.now()).toBe(at.getTime())
        },
      ),
      { numRuns: cases(20) },
    ))

  it.each<[string | number | Date, number]>([
    ['+23h', 23 * HOUR_MS],
    ['23h', 23 * HOUR_MS],
    ['2000-01-01T05:00:00Z', 5 * HOUR_MS],
    [START + 7, 7],
    [new Date(START + HOUR_MS), HOUR_MS],
  ])('takes %s', async (at, passedMs) => {
    await using t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, { pauseMs: 0 })
    await t.complete({ tag: 'review' }, { approved: true }, { at })
    expect(await run.result()).toEqual({ approved: true })
    expect(t.clock.now()).toBe(START + passedMs)
  })

  it('refuses an instant that is past or none, before anything has changed', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    const run = await t.engine.trigger(review, { pauseMs: 0 })
    for (const at of [START - 1, 'soon', new Date(NaN)]) {
      await expect(t.complete({ tag: 'review' }, 1, { at })).rejects.toThrow(RangeError)
    }
    await t.complete({ tag: 'review' }, 2)
    expect(await run.result()).toBe(2)
  })
})

describe('t.waitingToken', () => {
  it('lets time pass until there is one', async () => {
    await using t = await createTestEngine({ tasks: [review], clock: { mode: 'manual' } })
    await t.engine.trigger(review, { pauseMs: HOUR_MS })
    expect(await t.waitingToken({ tag: 'review' })).toMatchObject({ status: 'WAITING', tags: ['review'] })
    expect(t.clock.now()).toBe(START + HOUR_MS)
  })

  it('says that there is none and none will come, and why', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    await expect(t.waitingToken({ tag: 'review' })).rejects.toMatchObject({
      code: 'ERR_NO_SUCH_TOKEN',
      message: expect.stringContaining('tags: ["review"]') as unknown,
      cause: { code: 'ERR_STUCK' },
    })
  })

  it('does not choose between several', async () => {
    await using t = await createTestEngine({ tasks: [review] })
    await t.engine.trigger(review, { pauseMs: 0 })
    await t.engine.trigger(review, { pauseMs: 0 })
    await expect(t.waitingToken({ tag: 'review' })).rejects.toMatchObject({ code: 'ERR_SEVERAL_TOKENS' })
  })
})
