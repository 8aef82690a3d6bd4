import { describe, expect, it } from 'vitest'
import { type EngineErrorEvent, metadata, once, task, wait } from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { until } from '../../support/turn.ts'

const IDLE = { attempts: 0, executing: 0, waits: 0 }

function errorsOf(t: TestEngine): EngineErrorEvent[] {
  const events: EngineErrorEvent[] = []
  t.engine.on('error', (event) => void events.push(event))
  return events
}

describe('an engine', () => {
  it('claims the triggers of one turn together, and no more often than there is something to claim', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 1)
    await using t = await createTestEngine({
      tasks: [quick],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    await t.clock.settle()
    const before = steered.calls.length
    const runs = await Promise.all(Array.from({ length: 50 }, () => t.engine.trigger(quick, null)))
    await Promise.all(runs.map((run) => run.result()))
    const claims = steered.calls.slice(before).filter((name) => name === 'runs.claim')
    expect(claims.length).toBeLessThanOrEqual(3)
  })

  it('runs more than it can claim at once', async () => {
    const quick = bodyTask(() => 1)
    await using t = await createTestEngine({ tasks: [quick] })
    const runs = await Promise.all(Array.from({ length: 1_000 }, () => t.engine.trigger(quick, null)))
    const outputs = await Promise.all(runs.map((run) => run.result()))
    expect(outputs).toHaveLength(1_000)
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('does not forget a run that is triggered while a claim is out', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 1)
    await using t = await createTestEngine({
      tasks: [quick],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    await t.clock.settle()
    const answer = steered.holdAnswer('runs.claim')
    const first = await t.engine.trigger(quick, null)
    await until(() => steered.calls.at(-1) === 'runs.claim')
    const second = await t.engine.trigger(quick, null)
    answer()
    await t.clock.settle()
    expect(await Promise.all([first.result(), second.result()])).toEqual([1, 1])
  })

  it('claims again when a claim has failed', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 1)
    await using t = await createTestEngine({ tasks: [quick], storage: steered.storage })
    await t.clock.settle()
    const errors = errorsOf(t)
    const failure = steered.fail('runs.claim')
    const run = await t.engine.trigger(quick, null)
    expect(await run.result()).toBe(1)
    expect(errors).toEqual([{ error: failure }])
  })

  it('stores the end of a run until storage takes it', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 'kept')
    await using t = await createTestEngine({ tasks: [quick], storage: steered.storage })
    const errors = errorsOf(t)
    steered.fail('runs.update', 3)
    const start = t.clock.now()
    const run = await t.engine.trigger(quick, null)
    expect(await run.result()).toBe('kept')
    expect(errors).toHaveLength(3)
    expect(errors.every(({ runId }) => runId === run.id)).toBe(true)
    expect(t.clock.now() - start).toBe(3_000)
    expect((await t.engine.runs.retrieve(run.id)).attemptCount).toBe(1)
  })

  it('finds the end of a run that was stored and not acknowledged', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 'kept')
    await using t = await createTestEngine({ tasks: [quick], storage: steered.storage })
    steered.loseAnswer('runs.update')
    const run = await t.engine.trigger(quick, null)
    expect(await run.result()).toBe('kept')
    await t.clock.advance('1s')
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('can be closed while storage does not take the end of a run', async () => {
    const steered = steeredStorage(projectStorage())
    const quick = bodyTask(() => 'lost')
    const t = await createTestEngine({ tasks: [quick], storage: steered.storage, clock: { mode: 'manual' } })
    steered.fail('runs.update', 1_000)
    const run = await t.engine.trigger(quick, null)
    const result = run.result().catch((error: unknown) => error)
    await t.clock.advance('10s')
    await t.engine.close()
    expect(await result).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })

  it('completes a run though one of its streams cannot be stored', async () => {
    const steered = steeredStorage(projectStorage())
    const streaming = bodyTask(async () => {
      await metadata.stream('draft', new ReadableStream({ start: (controller) => controller.close() }))
      return 'kept'
    })
    await using t = await createTestEngine({ tasks: [streaming], storage: steered.storage })
    const errors = errorsOf(t)
    steered.fail('chunks.append', 2)
    expect(await (await t.engine.trigger(streaming, null)).result()).toBe('kept')
    expect(errors.length).toBeGreaterThan(0)
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('ends a run whose stream cannot be opened by what the task makes of it', async () => {
    const steered = steeredStorage(projectStorage())
    const streaming = bodyTask(async () => {
      await metadata.stream('draft', new ReadableStream())
    })
    await using t = await createTestEngine({ tasks: [streaming], storage: steered.storage })
    const failure = steered.fail('chunks.open')
    expect(await (await t.engine.trigger(streaming, null)).outcome()).toMatchObject({
      ok: false,
      error: { cause: { message: failure.message } },
    })
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('starts a run outside of the one that triggered it', async () => {
    const { AsyncLocalStorage } = await import('node:async_hooks')
    const request = new AsyncLocalStorage<string>()
    const show = bodyTask(() => request.getStore() ?? 'nothing')
    await using t = await createTestEngine({ tasks: [show] })
    const run = await request.run('a request', () => t.engine.trigger(show, null))
    expect(await run.result()).toBe('nothing')
  })

  it('makes no run a parent that only hears of another run', async () => {
    const quick = bodyTask(() => 1)
    await using t = await createTestEngine({ tasks: [quick] })
    const triggered: Promise<{ readonly id: string }>[] = []
    t.engine.on('run', ({ status }) => {
      if (status !== 'COMPLETED' || triggered.length === 4) return
      triggered.push(
        t.engine.trigger(quick, null),
        Promise.resolve().then(() => t.engine.trigger(quick, null)),
      )
    })
    await (await t.engine.trigger(quick, null)).result()
    await t.clock.settle()
    const runs = await Promise.all(triggered)
    expect(runs).toHaveLength(4)
    for (const { id } of runs) {
      expect(await t.engine.runs.poll(id)).toMatchObject({ status: 'COMPLETED', rootId: id })
      expect(await t.engine.runs.retrieve(id)).not.toHaveProperty('parentId')
    }
  })
})

describe('a canceled run that does not listen', () => {
  it('keeps its slot for 5 s, and not longer', async () => {
    const gate = createDeferred<void>()
    const order: string[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (name: string) => {
        order.push(name)
        if (name === 'deaf') await gate.promise
      },
    })
    await using t = await createTestEngine({ tasks: [worker], clock: { mode: 'manual', ioGraceMs: 10 } })
    const deaf = await t.engine.trigger(worker, 'deaf')
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(deaf)
    const next = await t.engine.trigger(worker, 'next')
    await t.clock.settle().catch(() => undefined)
    expect((await t.engine.runs.retrieve(deaf.id)).status).toBe('CANCELED')
    const start = t.clock.now()
    await t.clock.jump(4_999).catch(() => undefined)
    expect(t.clock.now()).toBe(start + 4_999)
    expect(order).toEqual(['deaf'])
    expect(t.engine.stats()).toMatchObject({ attempts: 1, executing: 1 })
    await t.clock.jump(1).catch(() => undefined)
    await t.clock.settle()
    expect(order).toEqual(['deaf', 'next'])
    expect((await t.engine.runs.retrieve(next.id)).status).toBe('COMPLETED')
    expect(t.engine.stats()).toMatchObject(IDLE)
    gate.resolve()
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(deaf.id)).status).toBe('CANCELED')
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('gives its slot back as soon as its function settles', async () => {
    const gate = createDeferred<void>()
    const order: string[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (name: string) => {
        order.push(name)
        if (name === 'slow') await t.clock.external(gate.promise)
      },
    })
    await using t = await createTestEngine({ tasks: [worker], clock: { mode: 'manual' } })
    const slow = await t.engine.trigger(worker, 'slow')
    const next = await t.engine.trigger(worker, 'next')
    await until(() => order.length > 0)
    expect(order).toEqual(['slow'])
    await t.engine.runs.cancel(slow)
    expect(order).toEqual(['slow'])
    gate.resolve()
    await t.clock.settle()
    expect(order).toEqual(['slow', 'next'])
    expect((await t.engine.runs.retrieve(next.id)).status).toBe('COMPLETED')
  })

  it('holds a slot of its engine as well', async () => {
    const order: string[] = []
    const worker = task({
      id: 'worker',
      run: async (name: string) => {
        order.push(name)
        if (name === 'deaf') await t.clock.sleep('3s')
      },
    })
    await using t = await createTestEngine({ tasks: [worker], concurrency: 1, clock: { mode: 'manual' } })
    const deaf = await t.engine.trigger(worker, 'deaf')
    await t.engine.trigger(worker, 'next')
    await t.clock.settle()
    await t.engine.runs.cancel(deaf)
    await t.clock.advance(2_999)
    expect(order).toEqual(['deaf'])
    await t.clock.advance(1)
    expect(order).toEqual(['deaf', 'next'])
  })

  it('never hangs in a wait, not even one that it begins later', async () => {
    const settled: string[] = []
    const waiting = bodyTask(async () => {
      const token = await wait.createToken()
      const waits = [wait.forToken(token), wait.forToken(token).unwrap(), wait.for({ days: 1 })]
      await Promise.allSettled(waits)
      settled.push('earlier')
      await Promise.allSettled([wait.forToken(token), wait.for({ days: 1 }), once('effect', () => 1)])
      settled.push('later')
    })
    await using t = await createTestEngine({ tasks: [waiting], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(waiting, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run)
    await t.clock.settle()
    expect(settled).toEqual(['earlier', 'later'])
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('by another engine is told as soon as that one has done it', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const order: string[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (name: string, { signal }) => {
        order.push(name)
        if (name === 'first') await clock.sleep('1h', { signal })
      },
    })
    await using a = await createTestEngine({ tasks: [worker], storage, clock, seed: 'a' })
    await using b = await createTestEngine({ tasks: [], storage, clock, seed: 'b' })
    const first = await a.engine.trigger(worker, 'first')
    await a.engine.trigger(worker, 'second')
    await clock.settle()
    await b.engine.runs.cancel(first)
    await clock.settle()
    expect(order).toEqual(['first', 'second'])
    expect(a.engine.stats()).toMatchObject(IDLE)
  })

  it('by another engine ends the delay of a run that was put off, by its trigger or until its retry', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const flaky = bodyTask(() => Promise.reject(new Error('again')), {
      retry: { maxAttempts: 2, minTimeoutInMs: 3_600_000 },
    })
    await using a = await createTestEngine({ tasks: [flaky], storage, clock, seed: 'a' })
    await using b = await createTestEngine({ tasks: [], storage, clock, seed: 'b' })
    const runs = [await a.engine.trigger(flaky, null, { delay: '1h' }), await a.engine.trigger(flaky, null)]
    await clock.settle()
    const timers = (): string[] => clock.pending().map(({ label }) => label)
    const delays = runs.map(({ id }) => `delay of ${id}`)
    expect(timers()).toEqual(expect.arrayContaining(delays))
    for (const run of runs) await b.engine.runs.cancel(run)
    await clock.settle()
    expect(timers().filter((label) => !label.startsWith('leases') && label !== 'retention')).toEqual([])
  })
})
