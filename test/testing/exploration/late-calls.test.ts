import { expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { explore } from 'waitpoint/testing'

let calls = 0
let kill = (): void => undefined
/** Its process dies whenever two of its runs execute, until each is executed alone. */
const poison = task({
  id: 'poison',
  run: async () => {
    calls += 1
    if (calls > 8) return 'survived'
    if (calls % 2 === 0) kill()
    return new Promise<never>(() => undefined)
  },
})
/** Time passes while it sleeps, and while a file is read. */
const ticking = task({
  id: 'ticking',
  run: async () => {
    for (;;) await wait.for({ seconds: 1 })
  },
})
const daily = task({ id: 'daily', schedule: { cron: '0 9 * * *' }, run: () => undefined })

it('waits for no file: the first execution of a schedule, which is the first call in its process, is like the second', async () => {
  const { complete } = await explore(
    async (t) => {
      const { engine } = t
      calls = 0
      kill = () => t.crash()
      const [run, other] = [await engine.trigger(poison), await engine.trigger(poison)]
      expect(await run.result()).toBe('survived')
      expect(await other.result()).toBe('survived')
      const ticks = await engine.trigger(ticking)
      await engine.schedules.list()
      await engine.runs.counts()
      await engine.wait.countTokens()
      await engine.queues()
      await engine.queue('poison').pause()
      await engine.runs.resetIdempotencyKey('poison', 'key')
      await engine.timeline()
      await engine.createAccessToken({ trigger: 'poison' })
      await engine.runs.explain(run)
      await engine.runs.list()
      await engine.wait.listTokens()
      await engine.runs.addTags(ticks, 'tag')
      await engine.runs.replay(run)
      const later = await engine.trigger(poison, undefined, { delay: '1d' })
      await engine.runs.reschedule(later, { delay: '2d' })
      await expect(engine.runs.continueWith(later)).rejects.toThrow('Cannot continue')
      await engine.runs.cancel(ticks)
    },
    { tasks: [ticking, poison, daily], maxInterruptions: 0, maxDeviations: 0 },
  )
  expect(complete).toBe(true)
})
