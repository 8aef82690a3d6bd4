import { afterAll, describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { taskTest, type TaskTestContext } from 'waitpoint/vitest'
import { runTaskTest } from '../../../src/testing/vitest/task-test.ts'

const START = Date.UTC(2000, 0, 1)

const review = task({
  id: 'review',
  run: async (_payload: null, { wait }) => {
    const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
    return wait.forToken<string>(token).unwrap()
  },
})

describe('taskTest', () => {
  taskTest('gives a test an engine in virtual time', { tasks: [review] }, async ({ t }) => {
    const run = await t.engine.trigger(review, null)
    await expect(run).toTimeOutIn('24h')
    await t.complete({ tag: 'review' }, 'yes', { at: '+23h' })
    expect(await run.result()).toBe('yes')
    expect(t.clock.now()).toBe(START + 23 * 3_600_000)
  })

  taskTest('needs no options', async ({ t }) => {
    await t.clock.advance('1h')
    expect(t.clock.now()).toBe(START + 3_600_000)
  })

  const reviewTest = taskTest.with({ tasks: [review], clock: { start: 0 } })

  reviewTest('keeps the options it was made with', async ({ t }) => {
    await expect(await t.engine.trigger(review, null)).toBeWaitingFor(await t.waitingToken({ tag: 'review' }))
    expect(t.clock.now()).toBe(0)
  })

  reviewTest('lets a test override them', { clock: { start: 5 } }, ({ t }) => {
    expect(t.clock.now()).toBe(5)
    expect(t.calls(review)).toEqual([])
  })

  describe('side by side', () => {
    const passed: number[] = []
    for (const hours of [1, 2, 3]) {
      reviewTest.concurrent(`moves its own time only: ${hours}`, async ({ t }) => {
        const run = await t.engine.trigger(review, null)
        await t.complete({ tag: 'review' }, 'yes', { at: `+${hours}h` })
        await expect(run).toFinishWithin(0)
        passed.push(t.clock.now() / 3_600_000)
      })
    }
    afterAll(() => expect(passed.sort()).toEqual([1, 2, 3]))
  })

  it('fails with what the test threw, or else with what is left of it', async () => {
    const leave = ({ t }: TaskTestContext): unknown =>
      t.clock.setTimer(t.clock.now() + 5, () => undefined, { label: 'forgotten' })
    await expect(runTaskTest({}, leave)).rejects.toThrow(/timer "forgotten"/)
    await expect(
      runTaskTest({}, (context) => {
        leave(context)
        throw new Error('the reason')
      }),
    ).rejects.toThrow('the reason')
  })
})
