import { describe, expect, it } from 'vitest'
import { type Engine, memoryStorage, queue, queues, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngineOptions } from 'waitpoint/testing'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { steadyStorage } from '../../support/abandon.ts'
import { rejection } from '../../support/body-task.ts'

/** Two engines on one storage and one clock, whose task `mail` takes an hour. */
async function twoEngines({
  concurrencyLimit,
  ...options
}: { concurrencyLimit?: number } & TestEngineOptions = {}) {
  const mail = task({
    id: 'mail',
    queue: { name: 'mail', ...(concurrencyLimit === undefined ? {} : { concurrencyLimit }) },
    run: async (name: string, { signal }) => {
      begun.push(name)
      await t.clock.sleep('1h', { signal })
    },
  })
  const begun: string[] = []
  const storage = steadyStorage()
  const shared = { tasks: [mail], storage, ...options }
  const t = await createTestEngine({ ...shared, clock: { mode: 'manual' } })
  const other = await createTestEngine({ ...shared, clock: t.clock })
  const trigger = async (...names: readonly string[]) => {
    const handles = []
    for (const name of names) handles.push(await t.engine.trigger(mail, name))
    await t.clock.settle()
    return handles
  }
  /** The runs that execute, in both engines. */
  const executing = () => t.engine.stats().executing + other.engine.stats().executing
  return {
    t,
    other: other.engine,
    clock: t.clock,
    engine: t.engine,
    mail,
    trigger,
    begun,
    executing,
    close: closing(other, t),
  }
}

function closing(...engines: readonly AsyncDisposable[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      for (const engine of engines) await engine[Symbol.asyncDispose]()
    },
  }
}

describe('a queue that is paused', () => {
  it('starts no run, in no engine, until it is resumed by any of them; what executes goes on to its end', async () => {
    const { engine, other, clock, trigger, begun, close } = await twoEngines()
    await using _ = close
    const [first] = await trigger('first')
    expect(await engine.queue('mail').pause()).toEqual({
      name: 'mail',
      isPaused: true,
      running: 1,
      queued: 0,
      isMore: false,
      waitingForSlot: 0,
    })
    await trigger('second', 'third')
    await clock.advance('2h')
    await first!.result()
    expect(begun).toEqual(['first'])
    const paused = await other.queue('mail').retrieve()
    expect(paused).toMatchObject({ isPaused: true, running: 0, queued: 2 })
    expect(await other.queue('mail').resume()).toMatchObject({ isPaused: false })
    await clock.settle()
    expect(begun).toEqual(['first', 'second', 'third'])
  })

  it('lets no run go on after a wait; then those come before the ones that start', async () => {
    const order: string[] = []
    const ask = task({
      id: 'ask',
      queue: { name: 'desk', concurrencyLimit: 1 },
      run: async (token: string) => {
        order.push('asks')
        await wait.forToken(token)
        order.push('goes on')
      },
    })
    await using t = await createTestEngine({
      tasks: [ask],
      storage: steadyStorage(),
      clock: { mode: 'manual' },
    })
    const { engine, clock } = t
    const token = await engine.wait.createToken({ timeout: '2d' })
    const run = await engine.trigger(ask, token.id)
    await clock.settle()
    await engine.queue('desk').pause()
    await engine.wait.completeToken(token)
    await engine.trigger(ask, token.id)
    await clock.advance('1d')
    expect(order).toEqual(['asks'])
    expect(await engine.queue('desk').retrieve()).toMatchObject({ running: 0, queued: 1, waitingForSlot: 1 })
    expect((await engine.runs.explain(run)).sentence).toBe(
      'All that the run waited for has come: it goes on when queue "desk" is resumed.',
    )
    await engine.queue('desk').resume()
    await clock.settle()
    expect(order).toEqual(['asks', 'goes on', 'asks', 'goes on'])
  })

  it('stays paused over a restart, and starts no retry', async () => {
    const calls: number[] = []
    const storage = steadyStorage()
    const flaky = task({
      id: 'flaky',
      retry: { maxAttempts: 2, minTimeoutInMs: 60_000, randomize: false },
      run: (_: null, { ctx }) => {
        calls.push(ctx.attempt.number)
        if (ctx.attempt.number === 1) throw new Error('once more')
      },
    })
    await using t = await createTestEngine({ tasks: [flaky], storage, clock: { mode: 'manual' } })
    const run = await t.engine.trigger(flaky, null)
    await t.clock.settle()
    await t.engine.queue('task/flaky').pause()
    await t.engine.close()
    await using next = await createTestEngine({ tasks: [flaky], storage, clock: t.clock })
    await t.clock.advance('1h')
    expect(calls).toEqual([1])
    expect((await next.engine.runs.explain(run)).sentence).toMatch(/: queue "task\/flaky" is paused\.$/)
    await next.engine.queue('task/flaky').resume()
    await t.clock.settle()
    expect(calls).toEqual([1, 2])
  })

  it('leaves other queues alone, also where there is one slot for all', async () => {
    const order: string[] = []
    const waits = (id: string) =>
      task({
        id,
        run: async (token: string) => {
          await wait.forToken(token)
          order.push(id)
        },
      })
    const [one, two] = [waits('one'), waits('two')]
    await using t = await createTestEngine({
      tasks: [one, two],
      storage: steadyStorage(),
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    for (const each of [one, two]) {
      await t.engine.trigger(each, token.id)
      await t.clock.settle()
    }
    await t.engine.queue('task/one').pause()
    await t.engine.wait.completeToken(token)
    await t.clock.settle()
    expect(order).toEqual(['two'])
    await t.engine.queue('task/one').resume()
    await t.clock.settle()
    expect(order).toEqual(['two', 'one'])
  })
})

describe('the limit of a queue', () => {
  it('counts over all engines from the moment it is set, lower or higher than that of the tasks', async () => {
    const { engine, other, clock, trigger, executing, begun, close } = await twoEngines({
      concurrencyLimit: 3,
    })
    await using _ = close
    await trigger('1', '2', '3', '4', '5', '6', '7')
    expect(executing()).toBe(3)
    const lowered = await other.queue('mail').setLimit(1)
    expect(lowered).toMatchObject({
      limit: 1,
      declaredLimit: 3,
      limitedAt: new Date(clock.now()),
      running: 3,
    })
    await clock.advance('1h')
    expect(begun).toHaveLength(4)
    await clock.advance('1h')
    expect([begun.length, executing()]).toEqual([5, 1])
    await other.queue('mail').setLimit(2)
    await clock.settle()
    expect([begun.length, executing()]).toEqual([6, 2])
    const reset = await engine.queue('mail').resetLimit()
    expect(reset).toMatchObject({ limit: 3, declaredLimit: 3 })
    expect(reset).not.toHaveProperty('limitedAt')
    await clock.settle()
    expect([begun.length, executing()]).toEqual([7, 3])
  })

  it('can be set where the tasks have none: a slot that is given back is the next run’s', async () => {
    const { engine, clock, trigger, executing, begun, close } = await twoEngines()
    await using _ = close
    await engine.queue('mail').setLimit(1)
    await trigger('1', '2', '3')
    for (const count of [1, 2, 3]) {
      expect([begun.length, executing()]).toEqual([count, 1])
      await clock.advance('1h')
    }
    expect(executing()).toBe(0)
    await trigger('4', '5')
    expect(executing()).toBe(1)
    await engine.queue('mail').resetLimit()
    await clock.settle()
    expect(executing()).toBe(2)
    expect(await engine.queues()).toEqual([
      { name: 'mail', isPaused: false, running: 2, queued: 0, isMore: false, waitingForSlot: 0 },
    ])
  })

  it('wakes the only engine there is at once, and again with each slot that is given back', async () => {
    const begun: string[] = []
    const work = task({
      id: 'work',
      run: async (name: string) => {
        begun.push(name)
        await t.clock.sleep(1)
      },
    })
    const t = await createTestEngine({
      tasks: [work],
      storage: steadyStorage(),
      clock: { mode: 'manual' },
    })
    await using _ = t
    await t.engine.queue('task/work').setLimit(0)
    for (const name of ['1', '2', '3']) await t.engine.trigger(work, name)
    await t.clock.settle()
    expect(begun).toEqual([])
    await t.engine.queue('task/work').setLimit(1)
    await t.clock.settle()
    expect(begun).toEqual(['1'])
    // Long before the engine would look at its storage by itself.
    await t.clock.advance(5)
    expect(begun).toEqual(['1', '2', '3'])
  })

  it('lets all runs that wait for a slot have it, one after the other', async () => {
    let [busy, most, ended] = [0, 0, 0]
    let asked = 0
    const storage = wrapStorage(steadyStorage(), (name, operation) => (...args) => {
      if (name === 'runs.resume') asked += 1
      return operation(...args)
    })
    const work = task({
      id: 'work',
      run: async (token: string) => {
        await wait.forToken(token)
        most = Math.max(most, (busy += 1))
        await t.clock.sleep('1m')
        busy -= 1
        ended += 1
      },
    })
    const t = await createTestEngine({ tasks: [work], storage, clock: { mode: 'manual' } })
    await using _ = t
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    for (let at = 0; at < 60; at += 1) await t.engine.trigger(work, token.id)
    await t.clock.settle()
    await t.engine.queue('task/work').setLimit(3)
    await t.engine.wait.completeToken(token)
    await t.clock.advance('20m')
    expect([most, ended]).toEqual([3, 60])
    // All of them once, and then the first one whenever a slot may be free.
    expect(asked).toBeLessThan(240)
  })

  it.each([[-1], [1.5], [Number.NaN], [100_001], ['5'], [null], [undefined]])(
    'is a whole number, and %s is refused before anything has changed',
    async (limit) => {
      await using t = await createTestEngine({ tasks: [] })
      const mail = t.engine.queue('mail')
      await mail.setLimit(0)
      await expect(mail.setLimit(limit as number)).rejects.toThrow(
        /^Cannot use the limit of a queue .*0 to 100000/,
      )
      expect(await mail.retrieve()).toMatchObject({ limit: 0 })
    },
  )

  it('and a pause are told by explanations of runs', async () => {
    const { engine, trigger, close } = await twoEngines({ concurrencyLimit: 5 })
    await using _ = close
    await engine.queue('mail').setLimit(1)
    const [, run] = await trigger('1', '2')
    expect(await engine.runs.explain(run!)).toMatchObject({
      sentence: expect.stringContaining('(limit 1, held by run_') as string,
      limit: 1,
      isPaused: false,
    })
    await engine.queue('mail').pause()
    expect(await engine.runs.explain(run!)).toMatchObject({
      sentence: 'The run is queued in queue "mail": queue "mail" is paused.',
      isPaused: true,
    })
  })
})

describe('queue and queues', () => {
  it('find the engine of the run that calls them', async () => {
    const stop = task({
      id: 'stop',
      run: async (_: null) => {
        await queue('mail').pause()
        return (await queues()).map(({ name, isPaused }) => [name, isPaused])
      },
    })
    await using t = await createTestEngine({ tasks: [stop] })
    const run = await t.engine.trigger(stop, null)
    expect(await run.result()).toEqual([
      ['mail', true],
      ['task/stop', false],
    ])
    expect(() => queue('mail')).toThrow(expect.objectContaining({ code: 'ERR_NO_ENGINE' }) as Error)
    expect(await rejection(queues())).toMatchObject({ code: 'ERR_NO_ENGINE' })
  })

  it('refuse a name that is none', async () => {
    await using t = await createTestEngine({ tasks: [] })
    for (const name of ['', 7, undefined])
      expect(() => t.engine.queue(name as string)).toThrow(/^Cannot use the name of/)
  })

  it('say so where the storage keeps nothing of queues', async () => {
    const { queues: _, ...storage } = memoryStorage()
    await using t = await createTestEngine({ tasks: [], storage })
    const calls: readonly ((engine: Engine) => Promise<unknown>)[] = [
      (engine) => engine.queues(),
      (engine) => engine.queue('mail').retrieve(),
      (engine) => engine.queue('mail').pause(),
      (engine) => engine.queue('mail').resume(),
      (engine) => engine.queue('mail').setLimit(1),
      (engine) => engine.queue('mail').resetLimit(),
    ]
    for (const call of calls)
      expect(await rejection(call(t.engine))).toMatchObject({ code: 'ERR_CANNOT_SET_QUEUE' })
  })
})
