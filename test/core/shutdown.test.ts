import { describe, expect, it } from 'vitest'
import {
  type Clock,
  createEngine,
  type Engine,
  type EngineErrorEvent,
  type Hold,
  once,
  type ReleaseHold,
  systemClock,
  task,
  wait,
} from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn } from '../support/turn.ts'

const CLOSED = { code: 'ERR_ENGINE_CLOSED' }
const IDLE = { attempts: 0, executing: 0, waits: 0 }
const nap = task({
  id: 'nap',
  run: (_payload: null, tools) => tools.wait.for({ hours: 1 }).then(() => 'rested'),
})
const double = task({ id: 'double', run: (n: number) => n * 2 })

describe('close', () => {
  it('of an engine that was never used does nothing, and asks nothing of the storage', async () => {
    const steered = steeredStorage(projectStorage())
    const engine = createEngine({ storage: steered.storage, clock: testClock() })
    await engine.close()
    expect(steered.calls).toEqual([])
    await expect(engine.ready()).rejects.toMatchObject(CLOSED)
  })

  it('rejects what is awaited: results, polls and subscriptions; an outcome says so', async () => {
    const t = await createTestEngine({ tasks: [nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(nap, null)
    await t.clock.settle()
    const next = t.engine.runs.subscribeToRun(run.id)[Symbol.asyncIterator]()
    expect((await next.next()).value).toMatchObject({ status: 'WAITING' })
    const awaited = [run.result(), t.engine.runs.poll(run), next.next()].map(rejection)
    const outcome = run.outcome()
    await t.clock.settle()
    await t.engine.close()
    for (const error of await Promise.all(awaited)) expect(error).toMatchObject(CLOSED)
    expect(await outcome).toMatchObject({ ok: false, id: run.id, error: { ...CLOSED, runId: run.id } })
  })

  it('aborts what executes, rejects what is waited for, and is done at once', async () => {
    const caught: unknown[] = []
    const busy = bodyTask(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      caught.push(signal.reason, await rejection(wait.createToken()))
    })
    const waiting = bodyTask(async () => void caught.push(await rejection(wait.for({ hours: 1 }))), {
      id: 'waiting',
    })
    const t = await createTestEngine({ tasks: [busy, waiting], clock: { mode: 'manual', ioGraceMs: 10 } })
    await t.engine.trigger(busy, null)
    await t.engine.trigger(waiting, null)
    await t.clock.settle().catch(() => undefined)
    await t.close()
    expect(t.engine.stats()).toMatchObject(IDLE)
    await t.clock.settle()
    expect(caught).toHaveLength(3)
    for (const error of caught) expect(error).toMatchObject(CLOSED)
  })

  it('lets an effect of once that is under way end, and records it', async () => {
    const [begun, ended] = [createDeferred<void>(), createDeferred<void>()]
    const after: unknown[] = []
    let mails = 0
    const invite = bodyTask(async () => {
      const mail = await once('mail', async () => {
        begun.resolve()
        await ended.promise
        return (mails += 1)
      })
      if (mails === 1) after.push(await rejection(once('next', () => (mails += 1))))
      return mail
    })
    const waiting = bodyTask(async () => void after.push(await rejection(wait.for({ hours: 1 }))), {
      id: 'waiting',
    })
    const storage = projectStorage()
    const one = createEngine({ tasks: [invite, waiting], storage })
    const { id } = await one.trigger(invite, null)
    const other = await one.trigger(waiting, null)
    await begun.promise
    while ((await one.runs.retrieve(other)).status !== 'WAITING') await turn()
    const closed = one.close()
    // The other attempt is not kept for it.
    while (after.length === 0) await turn()
    ended.resolve()
    await closed
    while (after.length === 1) await turn()
    for (const error of after) expect(error).toMatchObject(CLOSED)
    mails += 1
    await using two = createEngine({ tasks: [invite], storage })
    expect(await two.runs.poll(id)).toMatchObject({ status: 'COMPLETED', output: 1 })
    expect(mails).toBe(2)
  })

  it('waits for an effect that does not end for five seconds, and no longer', async () => {
    const begun = createDeferred<void>()
    const stuck = bodyTask(() => once('stuck', () => (begun.resolve(), new Promise<void>(() => undefined))))
    const grace = createDeferred<{ readonly at: number; readonly fire: () => void }>()
    const clock: Clock = {
      now: () => 1_000,
      setTimer: (at, fire, about) => {
        if (about?.label.includes('effects of once') === true) grace.resolve({ at, fire })
        return () => undefined
      },
    }
    const engine = createEngine({ tasks: [stuck], storage: projectStorage(), clock })
    await engine.trigger(stuck, null)
    await begun.promise
    const closed = engine.close()
    const { at, fire } = await grace.promise
    expect(at).toBe(6_000)
    fire()
    await closed
    expect(engine.stats()).toMatchObject(IDLE)
  })

  it('does not wait for an effect that does not end on a clock that knows it', async () => {
    const stuck = bodyTask(() => once('stuck', () => new Promise<void>(() => undefined)))
    const t = await createTestEngine({ tasks: [stuck], clock: { ioGraceMs: 10 } })
    await t.engine.trigger(stuck, null)
    await t.clock.settle().catch(() => undefined)
    await t.engine.close()
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('lets nothing of what user code still does have an effect', async () => {
    const gate = createDeferred<void>()
    const steered = steeredStorage(projectStorage())
    const events: unknown[] = []
    const errors: unknown[] = []
    const stubborn = bodyTask(async (tools) => {
      await gate.promise
      // It cannot reject, and would end the process if a timer made it.
      tools.metadata.set('late', true)
      for (const call of [
        () => tools.wait.createToken(),
        () => tools.wait.for({ seconds: 1 }),
        () => tools.tasks.trigger('double', 1),
        () => tools.metadata.stream('late', new ReadableStream()),
      ]) {
        errors.push(await rejection((async () => call())()))
      }
      return 'late'
    })
    const t = await createTestEngine({
      tasks: [stubborn, double],
      storage: steered.storage,
      clock: { mode: 'manual', ioGraceMs: 10 },
    })
    t.engine.on('run', (run) => void events.push(run))
    t.engine.on('error', (error) => void events.push(error))
    await t.engine.trigger(stubborn, null)
    await t.clock.settle().catch(() => undefined)
    await t.close()
    const calls = steered.calls.length
    events.length = 0
    gate.resolve()
    await t.clock.settle()
    expect(errors).toHaveLength(4)
    for (const error of errors) expect(error).toMatchObject(CLOSED)
    expect(steered.calls.slice(calls)).toEqual([])
    expect(events).toEqual([])
    expect(t.clock.pending()).toEqual([])
  })

  it('twice is once', async () => {
    const steered = steeredStorage(projectStorage())
    const t = await createTestEngine({ tasks: [nap], storage: steered.storage })
    const closing = t.engine.close()
    expect(t.engine.close()).toBe(closing)
    expect(t.engine[Symbol.asyncDispose]()).toBe(closing)
    await t.close()
    await t.engine.close()
    expect(steered.calls.filter((name) => name === 'leave')).toHaveLength(1)
  })

  it('is closed also when a clock gives up waiting for what executes', async () => {
    const busy = bodyTask(() => new Promise(() => undefined))
    const t = await createTestEngine({ tasks: [busy], clock: { ioGraceMs: 5 } })
    await t.engine.trigger(busy, null)
    await t.clock.until(() => t.engine.stats().executing === 1)
    await expect(t.engine.close({ drainMs: '1h' })).rejects.toMatchObject({ code: 'ERR_STILL_BUSY' })
    expect(await rejection(t.engine.runs.list())).toMatchObject(CLOSED)
  })

  it('makes every later call reject, and throws nowhere', async () => {
    const t = await createTestEngine({ tasks: [double] })
    const run = await t.engine.trigger(double, 1)
    await run.result()
    await t.close()
    const { engine } = t
    for (const call of [
      engine.trigger(double, 1),
      engine.ready(),
      engine.tasks.trigger('double', 1),
      engine.tasks.batchTrigger('double', []),
      engine.tasks.triggerAndWait('double', 1),
      engine.runs.retrieve(run.id),
      engine.runs.poll(run.id),
      engine.runs.cancel(run.id),
      engine.runs.replay(run.id),
      engine.runs.list(),
      engine.runs.subscribeToRun(run.id)[Symbol.asyncIterator]().next(),
      engine.wait.createToken(),
      engine.wait.completeToken('waitpoint_x'),
      engine.wait.retrieveToken('waitpoint_x'),
      engine.wait.listTokens(),
      engine.wait.forToken('waitpoint_x'),
      engine.wait.for({ seconds: 1 }),
      engine.metadata.flush(),
      engine.streams.append('draft', 1),
      engine.streams.read(run.id, 'draft')[Symbol.asyncIterator]().next(),
      run.result(),
    ]) {
      expect(await rejection(call)).toMatchObject(CLOSED)
    }
    expect(await run.outcome()).toMatchObject({ ok: false, error: CLOSED })
    expect(() => engine.makeDefault()).toThrow(expect.objectContaining(CLOSED) as Error)
    expect(engine.stats()).toMatchObject(IDLE)
    expect(() => engine.on('run', () => undefined)()).not.toThrow()
  })

  it('while a call is out: it comes to an end, one way or the other, and starts nothing', async () => {
    for (const name of [
      'runs.insert',
      'runs.claim',
      'runs.update',
      'tick',
      'runs.get',
      'runs.park',
    ] as const) {
      const steered = steeredStorage(projectStorage())
      const unhandled: EngineErrorEvent[] = []
      const clock = testClock({ mode: 'manual', ioGraceMs: 10 })
      const t = await createTestEngine({ tasks: [double, nap], storage: steered.storage, clock })
      t.engine.on('error', (event) => void unhandled.push(event))
      const release = steered.holdAnswer(name)
      const calls = [
        t.engine.trigger(double, 1).then((run) => run.result()),
        t.engine.trigger(nap, null).then((run) => run.result()),
      ].map(async (call) => call.catch((error: unknown) => error))
      await clock.advance('11s').catch(() => undefined)
      const closed = t.engine.close()
      // The last look of callers that await a result is waited for, as that of readers.
      if (name === 'runs.get') release()
      await closed
      release()
      for (const end of await Promise.all(calls)) {
        if (end !== 2) expect(end, name).toMatchObject(CLOSED)
      }
      await clock.settle()
      expect(t.engine.stats(), name).toMatchObject(IDLE)
      expect(unhandled, name).toEqual([])
      await clock[Symbol.asyncDispose]()
    }
  })

  it.each(['open', 'settings.getOrInsert', 'tick'] as const)(
    'while the engine is opening: %s',
    async (name) => {
      const steered = steeredStorage(projectStorage())
      const clock = testClock({ mode: 'manual', ioGraceMs: 10 })
      const release = steered.holdAnswer(name)
      const opening = createTestEngine({ tasks: [nap], storage: steered.storage, clock }).catch(
        (error: unknown) => error,
      )
      const engine = createEngine({ tasks: [nap], storage: steered.storage, clock })
      await clock.settle().catch(() => undefined)
      const ready = rejection(engine.ready())
      await engine.close()
      release()
      await ready.catch(() => undefined)
      const other = await opening
      if (other instanceof Object && 'close' in other) await (other.close as () => Promise<void>)()
      await clock.settle()
      expect(clock.pending().filter(({ label }) => !label.startsWith('sleep'))).toEqual([])
      expect(steered.calls.filter((call) => call === 'leave').length).toBeGreaterThanOrEqual(1)
    },
  )

  it('while the engine is opening leaves no lease, no timer and no subscription behind', async () => {
    const storage = projectStorage()
    let subscriptions = 0
    const steered = steeredStorage({
      ...storage,
      subscribe: (owner, listener) => {
        subscriptions += 1
        const end = storage.subscribe(owner, listener)
        return () => {
          subscriptions -= 1
          end()
        }
      },
    })
    const clock = testClock({ mode: 'manual' })
    const release = steered.holdAnswer('open')
    const engine = createEngine({ tasks: [nap], storage: steered.storage, clock })
    const ready = rejection(engine.ready())
    const closing = engine.close()
    release()
    expect(await ready).toMatchObject(CLOSED)
    await closing
    await clock.settle()
    expect(clock.pending()).toEqual([])
    expect(subscriptions).toBe(0)
    expect(steered.calls).toEqual(['open', 'leave'])
  })

  it('leaves parked and executing runs to the next engine on the same storage', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const first = await createTestEngine({ tasks: [nap], storage, clock, seed: 'first' })
    const run = await first.engine.trigger(nap, null)
    await clock.advance('30m')
    await first.close()
    await using second = await createTestEngine({ tasks: [nap], storage, clock, seed: 'second' })
    await clock.advance('30m')
    expect(await second.engine.runs.retrieve(run.id)).toMatchObject({
      status: 'COMPLETED',
      output: 'rested',
      attemptCount: 2,
    })
  })

  it('rejects when the storage cannot be left, and is closed all the same', async () => {
    const steered = steeredStorage(projectStorage())
    const clock = testClock({ mode: 'manual' })
    const t = await createTestEngine({ tasks: [nap], storage: steered.storage, clock })
    const failure = steered.fail('leave')
    await expect(t.engine.close()).rejects.toBe(failure)
    await expect(t.engine.ready()).rejects.toMatchObject(CLOSED)
    expect(clock.pending()).toEqual([])
  })

  it('from inside a run ends that run as well', async () => {
    let caught: unknown
    const closing = bodyTask(async () => {
      await t.engine.close()
      caught = await rejection(wait.createToken())
    })
    const t = await createTestEngine({ tasks: [closing] })
    const run = await t.engine.trigger(closing, null)
    await expect(run.result()).rejects.toMatchObject(CLOSED)
    await t.close()
    await t.clock.settle()
    expect(caught).toMatchObject(CLOSED)
  })
})

describe('close with drainMs', () => {
  it('lets what executes come to its end, and starts nothing more', async () => {
    const order: string[] = []
    const slow = task({
      id: 'slow',
      run: async (name: string) => {
        order.push(`${name} starts`)
        await t.clock.sleep('5s')
        order.push(`${name} ends`)
        return name
      },
    })
    const t = await createTestEngine({ tasks: [slow], concurrency: 1, clock: { mode: 'manual' } })
    const one = await t.engine.trigger(slow, 'one')
    const two = await t.engine.trigger(slow, 'two')
    const ends = [one.result(), rejection(two.result())]
    await t.clock.settle()
    const closing = t.engine.close({ drainMs: '10s' })
    await expect(t.engine.trigger(slow, 'three')).rejects.toMatchObject(CLOSED)
    await t.clock.advance('5s')
    await closing
    expect(await ends[0]).toBe('one')
    expect(await ends[1]).toMatchObject(CLOSED)
    expect(order).toEqual(['one starts', 'one ends'])
    await t.close()
  })

  it.each(['a stream', 'onSuccess'])('lets a run that has returned come to its end: %s', async (what) => {
    const told: string[] = []
    async function* slow(): AsyncGenerator<number> {
      yield 1
      await t.clock.sleep('2s')
      yield 2
    }
    const hook = async (): Promise<void> => {
      await t.clock.sleep('2s')
      told.push('onSuccess has ended')
    }
    const returning = bodyTask(
      async ({ metadata }) => {
        if (what === 'a stream') await metadata.stream('k', slow())
        await t.clock.sleep('1s')
        return 'done'
      },
      what === 'onSuccess' ? { onSuccess: hook } : {},
    )
    const t = await createTestEngine({ tasks: [returning], clock: { mode: 'manual' } })
    t.engine.on('run', ({ status }) => void told.push(status))
    const result = (await t.engine.trigger(returning, null)).result()
    await t.clock.settle()
    const closing = t.engine.close({ drainMs: '10s' })
    await t.clock.advance('3s')
    await closing
    expect(await result).toBe('done')
    expect(told.slice(2)).toEqual(what === 'a stream' ? ['COMPLETED'] : ['onSuccess has ended', 'COMPLETED'])
    await t.close()
  })

  it('lets runs that execute use the engine to their end', async () => {
    const busy = bodyTask(async ({ metadata }) => {
      await t.clock.sleep('1s')
      metadata.set('last', 'words')
      const token = await wait.createToken()
      return token.id.startsWith('waitpoint_')
    })
    const t = await createTestEngine({ tasks: [busy], clock: { mode: 'manual' } })
    const result = (await t.engine.trigger(busy, null)).result()
    await t.clock.settle()
    const closing = t.engine.close({ drainMs: 60_000 })
    await t.clock.advance('1s')
    await closing
    expect(await result).toBe(true)
    await t.close()
  })

  it('aborts what takes longer', async () => {
    let reason: unknown
    const slow = bodyTask(async ({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      await t.clock.sleep('1h', { signal })
    })
    const t = await createTestEngine({ tasks: [slow], clock: { mode: 'manual' } })
    const result = rejection((await t.engine.trigger(slow, null)).result())
    await t.clock.settle()
    const closing = t.engine.close({ drainMs: '10s' })
    await t.clock.advance(9_999)
    expect(reason).toBeUndefined()
    await t.clock.advance(1)
    await closing
    expect(reason).toMatchObject(CLOSED)
    expect(await result).toMatchObject(CLOSED)
    await t.close()
  })

  it('does not wait for parked runs', async () => {
    const t = await createTestEngine({ tasks: [nap], clock: { mode: 'manual' } })
    await t.engine.trigger(nap, null)
    await t.clock.settle()
    await t.engine.close({ drainMs: '1h' })
    await t.close()
  })

  it('refuses an unreadable time, with a rejection, and stays open', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const close = (drainMs: unknown): Promise<void> => t.engine.close({ drainMs: drainMs as number })
    await expect(close('soon')).rejects.toThrow(RangeError)
    await expect(close(-1)).rejects.toThrow(RangeError)
    expect(await (await t.engine.trigger(double, 2)).result()).toBe(4)
  })
})

describe('a closed engine among others', () => {
  it('leaves the other ones alone', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const engines: Engine[] = []
    const one = await createTestEngine({ tasks: [nap], storage, clock, seed: 1 })
    await using two = await createTestEngine({ tasks: [nap], storage, clock, seed: 2 })
    engines.push(one.engine, two.engine)
    const run = await two.engine.trigger(nap, null)
    await clock.settle()
    await one.close()
    await clock.advance('1h')
    expect(await two.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED' })
  })
})

describe('keepAlive', () => {
  it.each([true, false])(
    '%s: keeps the process alive from the opening to the close, or not',
    async (keepAlive) => {
      const holds = new Set<Hold>()
      const system = systemClock()
      const hold = (one: Hold): ReleaseHold => {
        holds.add(one)
        return () => holds.delete(one)
      }
      const clock: Clock = {
        now: () => system.now(),
        setTimer: (at, fire) => system.setTimer(at, fire),
        hold,
      }
      const engine = createEngine({ clock, keepAlive })
      expect(holds.size).toBe(0)
      await engine.ready()
      expect([...holds].map(({ id }) => id)).toEqual(keepAlive ? ['keepAlive'] : [])
      await engine.close()
      expect(holds.size).toBe(0)
    },
  )
})
