import { afterAll, describe, expect } from 'vitest'
import { task } from 'waitpoint'
import { taskTest } from 'waitpoint/vitest'

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

  describe('as the `test` of vitest, extended by an engine', () => {
    const ran: string[] = []

    reviewTest.for([1, 2])('has an engine for each case of `for`: %i', async (hours, { t }) => {
      await t.clock.advance(`${hours}h`)
      ran.push(`for ${t.clock.now() / 3_600_000}`)
    })

    reviewTest.each([[3, 4]])('takes the cases of `each` as vitest has it: %i', (one, other) => {
      ran.push(`each ${one} ${other}`)
    })

    taskTest.sequential('takes options of the engine in every variant', { clock: { start: 7 } }, ({ t }) => {
      ran.push(`start ${t.clock.now()}`)
    })

    taskTest(
      'takes options of vitest beside those of the engine',
      { fails: true, clock: { start: 8 } },
      ({ t }) => {
        ran.push(`start ${t.clock.now()}`)
        throw new Error('as it is to')
      },
    )

    taskTest.fails('fails with what is left of it', ({ t }) => {
      t.clock.setTimer(t.clock.now() + 5, () => undefined, { label: 'forgotten' })
    })

    taskTest.fails('refuses options that there are not', { taks: [] } as never, ({ t }) => t.clock.settle())

    afterAll(() => expect(ran.sort()).toEqual(['each 3 4', 'for 1', 'for 2', 'start 7', 'start 8']))
  })
})
