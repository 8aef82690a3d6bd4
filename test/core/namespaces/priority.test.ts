import { describe, expect, it } from 'vitest'
import { task, type TriggerOptions, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { steadyStorage } from '../../support/abandon.ts'

/** A task whose run `busy` keeps the only slot of its queue for an hour. */
async function busyEngine() {
  const order: string[] = []
  const work = task({
    id: 'work',
    queue: { concurrencyLimit: 1 },
    run: async (name: string) => {
      order.push(name)
      if (name === 'busy') await t.clock.sleep('1h')
    },
  })
  const t = await createTestEngine({ tasks: [work], clock: { mode: 'manual' } })
  await t.engine.trigger(work, 'busy')
  await t.clock.settle()
  return { t, work, order }
}

type Work = Awaited<ReturnType<typeof busyEngine>>['work']

describe('the priority of a run', () => {
  it('lets it start as if it had been triggered so many seconds earlier, and later if it is negative', async () => {
    const { t, work, order } = await busyEngine()
    await using _ = t
    const trigger = async (name: string, options?: TriggerOptions) => t.engine.trigger(work, name, options)
    await trigger('plain')
    await trigger('behind', { priority: -20 })
    await t.clock.advance('8s')
    await trigger('ahead', { priority: 10 })
    await trigger('not enough', { priority: 7.5 })
    await t.clock.advance('5s')
    const last = await trigger('last')
    await t.clock.advance('1h')
    await last.result()
    expect(order).toEqual(['busy', 'ahead', 'plain', 'not enough', 'last', 'behind'])
  })

  it('is that of each item of a batch, and counts from the instant of a delay', async () => {
    const { t, order } = await busyEngine()
    await using _ = t
    const { runs } = await t.engine.tasks.batchTrigger<Work>('work', [
      { payload: 'one' },
      { payload: 'two', options: { priority: 1 } },
      { payload: 'delayed', options: { priority: 60, delay: '1m' } },
      { payload: 'three', options: { priority: 2 } },
    ])
    await t.clock.advance('2h')
    for (const run of runs) await run.result()
    expect(order).toEqual(['busy', 'three', 'two', 'one', 'delayed'])
  })

  it('is kept by a replay, and told to its task and by its record', async () => {
    const seen: unknown[] = []
    const tell = task({ id: 'tell', run: async (_: null, { ctx }) => void seen.push(ctx.run.priority) })
    await using t = await createTestEngine({ tasks: [tell] })
    const { runs } = t.engine
    const run = await t.engine.trigger(tell, null, { priority: 2.5 })
    await run.result()
    const replay = await runs.replay(run.id)
    await replay.result()
    await (await t.engine.trigger(tell, null, { priority: 0 })).result()
    expect(seen).toEqual([2.5, 2.5, undefined])
    expect([(await runs.retrieve(run.id)).priority, (await runs.retrieve(replay.id)).priority]).toEqual([
      2.5, 2.5,
    ])
  })

  it('counts again after a retry, and after the engine that executed it', async () => {
    const storage = steadyStorage()
    const order: string[] = []
    const work = task({
      id: 'work',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (name: string, { ctx, signal }) => {
        order.push(`${name} ${ctx.attempt.number}`)
        if (name === 'retried' && ctx.attempt.policyNumber === 1) throw new Error('once more')
        if (ctx.attempt.number === 1) await t.clock.sleep('1d', { signal })
      },
    })
    await using t = await createTestEngine({
      tasks: [work],
      storage,
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    await t.engine.trigger(work, 'retried', { priority: 600 })
    await t.clock.settle()
    await t.engine.trigger(work, 'busy')
    await t.clock.settle()
    await t.engine.trigger(work, 'plain')
    await t.clock.advance('1m')
    expect(order).toEqual(['retried 1', 'busy 1'])
    await t.engine.close()
    await using next = await createTestEngine({ tasks: [work], storage, clock: t.clock, concurrency: 1 })
    await next.clock.settle()
    expect(order).toEqual(['retried 1', 'busy 1', 'busy 2', 'retried 2', 'plain 1'])
  })

  it('does not let it start before a run that goes on', async () => {
    const order: string[] = []
    const asks = task({
      id: 'asks',
      queue: { name: 'one', concurrencyLimit: 1 },
      run: async (token: string) => {
        await wait.forToken(token)
        order.push('goes on')
      },
    })
    const starts = task({
      id: 'starts',
      queue: { name: 'one' },
      run: async (name: string) => {
        order.push(name)
        if (name === 'busy') await t.clock.sleep('1m')
      },
    })
    await using t = await createTestEngine({ tasks: [asks, starts], clock: { mode: 'manual' } })
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    await t.engine.trigger(asks, token.id)
    await t.clock.settle()
    await t.engine.trigger(starts, 'busy')
    await t.clock.settle()
    const last = await t.engine.trigger(starts, 'starts', { priority: 86_400 })
    await t.engine.wait.completeToken(token)
    await t.clock.advance('2m')
    await last.result()
    expect(order).toEqual(['busy', 'goes on', 'starts'])
  })
})
