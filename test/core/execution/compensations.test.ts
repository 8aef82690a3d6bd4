import { describe, expect, it } from 'vitest'
import {
  type Clock,
  createEngine,
  type Engine,
  type EngineErrorEvent,
  metadata,
  once,
  runs,
  streams,
  task,
  type Task,
  type TaskOptions,
  wait,
} from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { exploreAll } from '../../testing/exploration/bodies.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { type SteeredStorage, steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

type OnCancel = NonNullable<TaskOptions<null, unknown>['onCancel']>

const refund = task({ id: 'refund', run: ({ flight }: { flight: string }) => `refund of ${flight}` })

/** A task that waits for a day, and what it does when it is canceled. */
function journey(onCancel: OnCancel, options: Partial<TaskOptions<null, unknown>> = {}): Task<null, unknown> {
  return bodyTask(({ wait }) => wait.for({ days: 1 }), { id: 'journey', onCancel, ...options })
}

function errorsOf(engine: Engine): EngineErrorEvent[] {
  const events: EngineErrorEvent[] = []
  engine.on('error', (event) => void events.push(event))
  return events
}

/** Triggers a run, and answers when it waits. */
async function parked({ engine }: Pick<TestEngine, 'engine'>, of: Task<null, unknown>): Promise<string> {
  const { id } = await engine.trigger(of, null)
  for await (const run of engine.runs.subscribeToRun(id)) if (run.isWaiting) break
  return id
}

interface ClaimedWorld
  extends Pick<SteeredStorage, 'holdAnswer' | 'holdCall' | 'loseAnswer'>, AsyncDisposable {
  /** Resolves when the second attempt of the run is claimed, as storage sees it. */
  claimed(): Promise<void>
  /** Resolves when storage is asked for runs once more. */
  asked(): Promise<void>
  cancel(): Promise<unknown>
  /** By the end of all this `onCancel` was called once, and the function only for the first attempt. */
  expectTold(): Promise<void>
}

/** A run whose first attempt has thrown, in an engine on a storage that can be steered. */
async function aboutToBeClaimed(): Promise<ClaimedWorld> {
  const told: string[] = []
  let calls = 0
  const retry = {
    maxAttempts: 2,
    minTimeoutInMs: 60_000,
    maxTimeoutInMs: 60_000,
    factor: 1,
    randomize: false,
  }
  const flaky = bodyTask(
    () => {
      calls += 1
      return Promise.reject(new Error('busy'))
    },
    { retry, onCancel: ({ ctx }) => void told.push(ctx.run.id) },
  )
  const steered = steeredStorage(projectStorage())
  const clock = testClock({ mode: 'manual' })
  const engine = createEngine({ tasks: [flaky], storage: steered.storage, clock })
  const run = await engine.trigger(flaky, null)
  await clock.settle()
  const claims = (): number => steered.calls.filter((name) => name === 'runs.claim').length
  const later = async (by: string): Promise<void> => {
    const before = claims()
    void clock.advance(by)
    await until(() => claims() > before)
  }
  return {
    ...steered,
    async claimed() {
      await later('1m')
      while ((await engine.runs.retrieve(run)).status !== 'EXECUTING') await turn()
    },
    asked: () => later('1s'),
    cancel: () => engine.runs.cancel(run),
    async expectTold() {
      await clock.advance('10s')
      await until(() => told.length > 0)
      await clock.advance('10s')
      expect([told, calls]).toEqual([[run.id], 1])
    },
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

describe('onCancel', () => {
  it('is told the payload, the run and the attempt of a run that waits, once', async () => {
    const told: unknown[] = []
    const trip = task({
      id: 'trip',
      run: async (_: { to: string }, { wait }) => wait.for({ days: 1 }),
      onCancel: ({ payload, ctx, signal }) =>
        void told.push([payload, ctx.run.id, ctx.attempt.number, signal.aborted]),
    })
    await using t = await createTestEngine({ tasks: [trip] })
    const run = await t.engine.trigger(trip, { to: 'Rome' })
    for await (const { isWaiting } of t.engine.runs.subscribeToRun(run)) if (isWaiting) break
    await Promise.all([t.engine.runs.cancel(run), t.engine.runs.cancel(run)])
    await t.engine.runs.cancel(run)
    await t.clock.settle()
    expect(told).toEqual([[{ to: 'Rome' }, run.id, 1, false]])
  })

  it('may trigger runs and await them, create and complete tokens, read and change metadata, and log', async () => {
    const done = createDeferred<unknown>()
    const trip = bodyTask(
      async ({ wait }) => {
        metadata.set('flight', 'LH 1')
        await wait.createToken({ tags: 'trip' })
        await wait.for({ days: 1 })
      },
      {
        id: 'trip',
        onCancel: async ({ ctx }) => {
          const flight = String(metadata.get('flight'))
          const back = await refund.trigger({ flight })
          const token = await wait.createToken({ tags: 'trip' })
          await wait.completeToken(token.id, 'off')
          const { status } = await runs.retrieve(ctx.run.id)
          metadata.set('refund', await back.result())
          done.resolve({ status, child: back.id, token: await wait.retrieveToken(token.id) })
        },
      },
    )
    await using t = await createTestEngine({ tasks: [trip, refund] })
    const id = await parked(t, trip)
    await t.engine.runs.cancel(id)
    const seen = (await done.promise) as { child: string }
    await t.clock.settle()
    expect(seen).toMatchObject({ status: 'CANCELED', token: { status: 'COMPLETED', output: 'off' } })
    const after = await t.engine.runs.retrieve(id)
    expect(after).toMatchObject({
      status: 'CANCELED',
      metadata: { flight: 'LH 1', refund: 'refund of LH 1' },
    })
    expect(await t.engine.runs.retrieve(seen.child)).toMatchObject({ parentId: id, rootId: id })
    const tokens = await t.engine.wait.listTokens({ tags: 'trip' })
    expect(tokens.data.map(({ status }) => status).toSorted()).toEqual(['COMPLETED', 'WAITING'])
  })

  it('sees metadata that were not stored yet when the run was canceled', async () => {
    const seen: unknown[] = []
    const hasty = bodyTask(
      async ({ ctx }) => {
        const canceled = runs.cancel(ctx.run.id)
        metadata.set('flight', 'LH 2')
        await canceled
      },
      { onCancel: () => void seen.push(metadata.get('flight')) },
    )
    await using t = await createTestEngine({ tasks: [hasty] })
    await rejection((await t.engine.trigger(hasty, null)).result())
    await t.clock.settle()
    expect(seen).toEqual(['LH 2'])
  })

  it('waits for nothing, and says so', async () => {
    const done = createDeferred<unknown[]>()
    const trip = journey(async () => {
      const { id } = await wait.createToken()
      const errors = [
        wait.for({ hours: 1 }),
        wait.until({ date: new Date(8e12) }),
        wait.forToken(id),
        refund.triggerAndWait({ flight: 'x' }),
        refund.batchTriggerAndWait([{ payload: { flight: 'x' } }]),
        once('x', () => 1),
        streams.append('log', 1),
      ].map(rejection)
      done.resolve(await Promise.all(errors))
    })
    await using t = await createTestEngine({ tasks: [trip, refund] })
    const id = await parked(t, trip)
    await t.engine.runs.cancel(id)
    const errors = await done.promise
    expect(errors).toHaveLength(7)
    for (const error of errors)
      expect(error).toMatchObject({
        code: 'ERR_RUN_CANCELED',
        runId: id,
        message: expect.stringContaining(
          `in onCancel of run "${id}": a canceled run neither waits`,
        ) as string,
      })
    expect((await t.engine.runs.list({ taskIdentifier: 'refund' })).data).toEqual([])
  })

  it('learns when the function has settled', async () => {
    const order: string[] = []
    const gate = createDeferred<void>()
    const slow = bodyTask(
      async ({ signal }) => {
        order.push('called')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        await gate.promise
        order.push('function settles')
      },
      {
        onCancel: async ({ settled }) => {
          order.push('onCancel')
          await settled
          order.push('settled')
        },
      },
    )
    await using t = await createTestEngine({ tasks: [slow] })
    const run = await t.engine.trigger(slow, null)
    await until(() => order.length === 1)
    await t.engine.runs.cancel(run)
    await turn()
    expect(order).toEqual(['called', 'onCancel'])
    gate.resolve()
    await until(() => order.length === 4)
    expect(order.slice(2)).toEqual(['function settles', 'settled'])
  })

  it('of a run that cancels itself is called, and the run goes on in vain', async () => {
    const told: string[] = []
    const giveUp = bodyTask(
      async ({ ctx, wait }) => {
        await runs.cancel(ctx.run.id)
        told.push(((await rejection(wait.for({ hours: 1 }))) as Error).name)
      },
      { onCancel: ({ settled }) => settled.then(() => told.push('onCancel')) },
    )
    await using t = await createTestEngine({ tasks: [giveUp] })
    await rejection((await t.engine.trigger(giveUp, null)).result())
    await t.clock.settle()
    expect(told).toEqual(['RunCanceledError', 'onCancel'])
  })

  it('is called for a child that the canceled run waits for', async () => {
    const told: string[] = []
    const child = journey(() => void told.push('child'), { id: 'child' })
    const parent = bodyTask(() => child.triggerAndWait(null), { onCancel: () => void told.push('parent') })
    await using t = await createTestEngine({ tasks: [child, parent] })
    await t.engine.runs.cancel(await parked(t, parent))
    await t.clock.settle()
    expect(told.toSorted()).toEqual(['child', 'parent'])
  })

  it('is not called for a run that has not begun, has ended, or fails', async () => {
    const told: string[] = []
    const onCancel = (): unknown => told.push('onCancel')
    const fine = bodyTask(() => 1, { id: 'fine', onCancel })
    const failing = bodyTask(() => Promise.reject(new Error('no')), { id: 'failing', onCancel })
    await using t = await createTestEngine({ tasks: [fine, failing] })
    const later = await t.engine.trigger(fine, null, { delay: '1h' })
    await t.engine.runs.cancel(later)
    const [done, failed] = [await t.engine.trigger(fine, null), await t.engine.trigger(failing, null)]
    await done.result()
    await failed.outcome()
    await t.engine.runs.cancel(done)
    await t.engine.runs.cancel(failed)
    await t.clock.settle()
    expect(told).toEqual([])
  })

  it('is called if a cancel was stored at the instant at which the run ends, and only then', async () => {
    let called = 0
    const quick = bodyTask(async () => turn(), { onCancel: () => void (called += 1) })
    await using t = await createTestEngine({ tasks: [quick] })
    let canceled = 0
    for (let at = 0; at < 20; at += 1) {
      const run = await t.engine.trigger(quick, null)
      for (let turns = at % 4; turns > 0; turns -= 1) await turn()
      const cancel = t.engine.runs.cancel(run)
      const outcome = await run.outcome()
      await cancel
      if (!outcome.ok) canceled += 1
      await t.clock.settle()
      // A cancel may find a run that nothing has executed yet.
      if (!outcome.ok && (await t.engine.runs.retrieve(run)).attemptCount === 0) canceled -= 1
      expect(called).toBe(canceled)
    }
  })

  it('is called by the engine that cancels, between two attempts', async () => {
    const told: unknown[] = []
    const flaky = bodyTask(() => Promise.reject(new Error('busy')), {
      retry: { maxAttempts: 2, minTimeoutInMs: 3_600_000 },
      onCancel: ({ payload, ctx }) => void told.push([payload, ctx.attempt.number]),
    })
    await using t = await createTestEngine({ tasks: [flaky], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(flaky, null)
    await t.clock.settle()
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'DELAYED' })
    await t.engine.runs.cancel(run)
    await t.clock.settle()
    expect(told).toEqual([[null, 1]])
  })

  it('is called if the run is canceled while its next attempt is being claimed', async () => {
    await using world = await aboutToBeClaimed()
    const answer = world.holdAnswer('runs.claim')
    await world.claimed()
    await world.cancel()
    answer()
    await world.expectTold()
  })

  it.each([
    [
      'before the answer to its claim is lost',
      async (world) => {
        const answer = world.holdAnswer('runs.claim')
        await world.claimed()
        await world.cancel()
        answer(new Error('no answer'))
      },
    ],
    [
      'once the answer to its claim was lost',
      async (world) => {
        world.loseAnswer('runs.claim')
        await world.claimed()
        await world.cancel()
        await world.cancel()
      },
    ],
    [
      'before storage has looked for it',
      async (world) => {
        world.loseAnswer('runs.claim')
        await world.claimed()
        const call = world.holdCall('runs.claim')
        await world.asked()
        await world.cancel()
        call()
      },
    ],
    [
      'after storage has looked for it',
      async (world) => {
        world.loseAnswer('runs.claim')
        await world.claimed()
        const answer = world.holdAnswer('runs.claim')
        await world.asked()
        await world.cancel()
        answer()
      },
    ],
    [
      'and what storage finds then is lost, too',
      async (world) => {
        world.loseAnswer('runs.claim')
        await world.claimed()
        const answer = world.holdAnswer('runs.claim')
        await world.asked()
        await world.cancel()
        answer(new Error('no answer'))
      },
    ],
  ] as const satisfies readonly [string, (world: ClaimedWorld) => Promise<void>][])(
    'is called, once, if the run is canceled %s',
    async (_what, act) => {
      await using world = await aboutToBeClaimed()
      await act(world)
      await world.expectTold()
    },
  )

  it('that throws is an error event, and the run stays as it was canceled', async () => {
    const trip = journey(() => Promise.reject(new Error('no refund')))
    await using t = await createTestEngine({ tasks: [trip] })
    const errors = errorsOf(t.engine)
    const id = await parked(t, trip)
    await t.engine.runs.cancel(id)
    await until(() => errors.length > 0)
    expect(errors).toMatchObject([{ runId: id, error: { message: 'no refund' } }])
    expect(await t.engine.runs.retrieve(id)).toMatchObject({ status: 'CANCELED' })
  })

  it('that does not settle loses its calls after its time, which is virtual', async () => {
    const seen: unknown[] = []
    const trip = journey(
      async ({ signal }) => {
        signal.addEventListener('abort', () => void seen.push(signal.reason))
        await t.clock.sleep('10m')
        seen.push(await rejection(wait.createToken()))
        metadata.set('late', true)
      },
      { maxCancelDuration: '2m' },
    )
    await using t = await createTestEngine({ tasks: [trip], clock: { mode: 'manual' } })
    const errors = errorsOf(t.engine)
    const run = await t.engine.trigger(trip, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run)
    await t.clock.advance('119s')
    expect(seen).toEqual([])
    await t.clock.advance('1s')
    expect(seen).toHaveLength(1)
    await t.clock.advance('1h')
    expect(seen).toHaveLength(2)
    const message = `Cannot go on in onCancel of run "${run.id}": it took longer than its maxCancelDuration of 120 s`
    const [timedOut, late] = errors.map(({ error }) => error)
    for (const error of [...seen, timedOut])
      expect(error).toMatchObject({ code: 'ERR_RUN_TIMED_OUT', message })
    // A change cannot reject.
    expect(late).toMatchObject({ code: 'ERR_RUN_ENDED', cause: timedOut })
    expect(errors).toHaveLength(2)
    expect((await t.engine.runs.retrieve(run)).metadata).toEqual({})
  })

  it('leaves behind what it does not await, without an unhandled rejection', async () => {
    const gate = createDeferred<void>()
    let later: Promise<unknown> | undefined
    const trip = journey(async () => {
      void wait.for({ hours: 1 })
      later = gate.promise.then(() => rejection(wait.for({ hours: 1 })))
      await Promise.resolve()
    })
    await using t = await createTestEngine({ tasks: [trip] })
    await t.engine.runs.cancel(await parked(t, trip))
    await t.clock.settle()
    gate.resolve()
    await until(() => later !== undefined)
    expect(await later).toMatchObject({ code: 'ERR_RUN_ENDED' })
  })

  it.each([
    ['maxCancelDuration', { maxCancelDuration: 'long' }],
    ['onCancel', { onCancel: 1 as never }],
  ] as const)('refuses a wrong %s', (name, options) => {
    expect(() => bodyTask(() => 1, options)).toThrow(name)
  })
})

describe('onCancel, with several engines on one storage,', () => {
  it('is called by the engine where the run is parked, not by the one that cancels', async () => {
    const [clock, storage] = [testClock(), projectStorage()]
    const told: string[] = []
    await using one = createEngine({ tasks: [journey(() => void told.push('one'))], clock, storage })
    const id = await parked(
      { engine: one },
      journey(() => undefined),
    )
    await using two = createEngine({ tasks: [journey(() => void told.push('two'))], clock, storage })
    await two.runs.cancel(id)
    await until(() => told.length > 0)
    await turn()
    expect(told).toEqual(['one'])
  })

  it('is called by the one that cancels if the other has closed or died', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const told: string[] = []
    const trip = (name: string): Task<null, unknown> => journey(() => void told.push(name), { version: '1' })
    const closed = createEngine({ tasks: [trip('closed')], clock, storage })
    const first = await closed.trigger(trip(''), null)
    await clock.settle()
    await closed.close()
    const process = abandonable(clock, storage)
    const dead = createEngine({ tasks: [trip('dead')], clock: process.clock, storage: process.storage })
    const second = await dead.trigger(trip(''), null)
    await clock.settle()
    process.abandon()
    await using two = createEngine({ tasks: [trip('two')], clock, storage })
    await two.ready()
    await two.runs.cancel(first.id)
    await clock.settle()
    expect(told).toEqual(['two'])
    await clock.advance('2m')
    await two.runs.cancel(second.id)
    await clock.settle()
    expect(told).toEqual(['two', 'two'])
  })
})

describe('onCancel, with an engine that has lost the run unawares,', () => {
  it('is called by the engine that cancels alone', async () => {
    const [clock, storage] = [testClock(), projectStorage()]
    const told: string[] = []
    const trip = (name: string): Task<null, unknown> => journey(() => void told.push(name), { version: '1' })
    await using one = createEngine({ tasks: [trip('one')], clock, storage })
    const id = await parked({ engine: one }, trip(''))
    // As if its clock were ahead: the lease of the other is over.
    const mistaken = { ...storage, leases: () => [] }
    await using two = createEngine({ tasks: [trip('two')], clock, storage: mistaken })
    await two.runs.cancel(id)
    for await (const { isCompleted } of one.runs.subscribeToRun(id)) if (isCompleted) break
    await clock.settle()
    expect(told).toEqual(['two'])
  })
})

describe('close', () => {
  it('lets a call of onCancel end that is under way', async () => {
    const [begun, gate] = [createDeferred<void>(), createDeferred<void>()]
    const trip = journey(async () => {
      begun.resolve()
      await gate.promise
      await refund.trigger({ flight: 'LH 3' })
    })
    const storage = projectStorage()
    const t = await createTestEngine({ tasks: [trip, refund], storage })
    const errors = errorsOf(t.engine)
    await t.engine.runs.cancel(await parked(t, trip))
    await begun.promise
    const closed = t.engine.close()
    gate.resolve()
    await closed
    expect(errors).toEqual([])
    await using next = createEngine({ storage, clock: t.clock, execute: false })
    expect((await next.runs.list({ taskIdentifier: 'refund' })).data).toHaveLength(1)
  })

  it('aborts one that does not end in some seconds', async () => {
    const seen: unknown[] = []
    const trip = journey(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      seen.push(signal.reason, await rejection(refund.trigger({ flight: 'x' })))
    })
    const grace = createDeferred<{ readonly at: number; readonly fire: () => void }>()
    const clock: Clock = {
      now: () => 1_000,
      setTimer: (at, fire, about) => {
        if (about?.label.includes('calls of onCancel') === true) grace.resolve({ at, fire })
        else if (at <= 1_000) setImmediate(fire)
        return () => undefined
      },
    }
    const engine = createEngine({ tasks: [trip, refund], storage: projectStorage(), clock })
    await engine.runs.cancel(await parked({ engine }, trip))
    const closed = engine.close()
    const { at, fire } = await grace.promise
    expect(at).toBe(6_000)
    await turn()
    expect(seen).toEqual([])
    fire()
    await closed
    await until(() => seen.length === 2)
    for (const error of seen) expect(error).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })
})

describe('explore', () => {
  it.each([
    ['one, if the engine of the run cancels it twice at once', false],
    ['one at most, if an engine without the task cancels it, too', true],
  ])('finds %s', async (_, isElsewhere) => {
    let done = createDeferred<void>()
    let calls = 0
    const trip = journey(async ({ settled }) => {
      calls += 1
      await settled
      const { id } = await refund.trigger({ flight: 'LH 4' })
      metadata.set('refund', id)
      done.resolve()
    })
    const report = await exploreAll(
      async (tools) => {
        const { engine, elsewhere } = tools
        done = createDeferred()
        calls = 0
        const run = await engine.trigger(trip, null)
        for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
        const other = isElsewhere ? elsewhere : engine
        await Promise.all([other.runs.cancel(run.id), engine.runs.cancel(run)])
        // The day may pass before it is canceled.
        const isCanceled = !(await run.outcome()).ok
        if (isCanceled && !isElsewhere) await done.promise
        tools.sometimes('it is called', calls === 1)
        const { data } = await engine.runs.list({ taskIdentifier: 'refund' })
        if (isElsewhere) expect(Math.max(calls, data.length)).toBeLessThanOrEqual(isCanceled ? 1 : 0)
        else expect([calls, data.length]).toEqual(isCanceled ? [1, 1] : [0, 0])
      },
      { tasks: [trip, refund], maxDeviations: 1 },
    )
    expect(report.complete).toBe(true)
  })
})
