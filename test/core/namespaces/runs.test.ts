import { describe, expect, it } from 'vitest'
import { memoryStorage, RunCanceledError, task, type RunStatus } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'

const double = task({ id: 'double', run: (n: number) => n * 2 })
const nap = task({
  id: 'nap',
  run: (_payload: null, { wait }) => wait.for({ hours: 1 }).then(() => 'rested'),
})

describe('runs.retrieve', () => {
  it('shows a run at every stage of its life', async () => {
    const stages = bodyTask(
      async ({ wait, ctx, metadata }) => {
        metadata.set('stage', 1)
        seen.push(await t.engine.runs.retrieve(ctx.run.id))
        await wait.for({ hours: 1 })
        return 'done'
      },
      { id: 'stages' },
    )
    const seen: unknown[] = []
    await using t = await createTestEngine({ tasks: [stages], clock: { mode: 'manual' } })
    const createdAt = new Date(t.clock.now())
    const { id } = await t.engine.trigger(stages, null, {
      tags: ['a'],
      metadata: { from: 'test' },
      idempotencyKey: 'k',
      delay: '1m',
      queue: { name: 'mail' },
      concurrencyKey: 'Ada',
    })
    const flags = { isQueued: false, isExecuting: false, isWaiting: false, isCompleted: false }
    const ends = { isSuccess: false, isFailed: false, isCanceled: false, isCancelled: false }
    const common = {
      id,
      taskIdentifier: 'stages',
      payload: null,
      tags: ['a'],
      realtimeStreams: [],
      queue: 'mail',
      concurrencyKey: 'Ada',
      idempotencyKey: 'k',
      createdAt,
      rootId: id,
      attempts: [],
    }
    const startedAt = new Date(createdAt.getTime() + 60_000)
    expect(await t.engine.runs.retrieve(id)).toEqual({
      ...common,
      ...flags,
      ...ends,
      status: 'DELAYED',
      isQueued: true,
      metadata: { from: 'test' },
      attemptCount: 0,
      updatedAt: createdAt,
      delayedUntil: startedAt,
      durationMs: 0,
      waitingOn: [],
    })
    await t.clock.advance('1m')
    expect(seen).toMatchObject([
      { ...flags, status: 'EXECUTING', isExecuting: true, attemptCount: 1, startedAt, waitingOn: [] },
    ])
    const wakesAt = new Date(startedAt.getTime() + 3_600_000)
    expect(await t.engine.runs.retrieve({ id })).toEqual({
      ...common,
      ...flags,
      ...ends,
      status: 'WAITING',
      isWaiting: true,
      metadata: { from: 'test', stage: 1 },
      attemptCount: 1,
      updatedAt: startedAt,
      startedAt,
      durationMs: 0,
      // Storages know more or less of it.
      owner: expect.objectContaining({ isHere: true }) as unknown,
      waitingOn: [{ id: expect.any(String) as unknown, kind: 'SLEEP', timeoutAt: wakesAt }],
    })
    await t.clock.advance('1h')
    expect(await t.engine.runs.retrieve(id)).toEqual({
      ...common,
      ...flags,
      ...ends,
      status: 'COMPLETED',
      isCompleted: true,
      isSuccess: true,
      output: 'done',
      metadata: { from: 'test', stage: 1 },
      attemptCount: 1,
      updatedAt: wakesAt,
      startedAt,
      finishedAt: wakesAt,
      durationMs: 3_600_000,
      waitingOn: [],
    })
  })

  it('shows the engine that holds a run, for as long as one does', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), memoryStorage()]
    const tasks = [bodyTask(async ({ wait }) => wait.for({ minutes: 1 }), { id: 'a' })]
    await using looks = await createTestEngine({ tasks, clock, storage, execute: false, leaseMs: 30_000 })
    await using works = await createTestEngine({ tasks, clock, storage, leaseMs: 30_000 })
    const run = await looks.engine.tasks.trigger('a', null, { delay: '1m' })
    expect(await looks.engine.runs.retrieve(run)).not.toHaveProperty('owner')
    await clock.advance('1m')
    const there = (await looks.engine.runs.retrieve(run)).owner
    const here = (await works.engine.runs.retrieve(run)).owner
    expect(there).toEqual({ ...here, isHere: false })
    expect(here).toMatchObject({ id: expect.stringMatching(/^engine_/) as unknown, isHere: true })
    expect(Number(here?.leaseEndsAt) - Number(here?.heardAt)).toBe(30_000)
    await clock.advance('1m')
    expect(await looks.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED' })
    expect(await looks.engine.runs.retrieve(run)).not.toHaveProperty('owner')
  })

  it('shows everything that a run waits for, in order', async () => {
    const waiting = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1h' })
      await Promise.all([wait.forToken(token), wait.for({ minutes: 5 }), nap.triggerAndWait(null)])
    })
    await using t = await createTestEngine({ tasks: [waiting, nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(waiting, null)
    await t.clock.settle()
    const { waitingOn } = await t.engine.runs.retrieve(run.id)
    expect(waitingOn.map(({ kind }) => kind)).toEqual(['MANUAL', 'SLEEP', 'RUN'])
    await t.clock.advance('10m')
    const later = await t.engine.runs.retrieve(run.id)
    expect(later.waitingOn.map(({ kind }) => kind)).toEqual(['MANUAL', 'RUN'])
    await t.clock.until(run.result())
  })

  it.each([undefined, null, '', 7, {}, { id: 7 }])('refuses %o as a run', async (run) => {
    await using t = await createTestEngine()
    await expect(t.engine.runs.retrieve(run as string)).rejects.toThrow(TypeError)
    await expect(t.engine.runs.cancel(run as string)).rejects.toThrow(TypeError)
    await expect(t.engine.runs.poll(run as string)).rejects.toThrow(TypeError)
    await expect(t.engine.runs.replay(run as string)).rejects.toThrow(TypeError)
  })

  it('does not know a run that does not exist', async () => {
    await using t = await createTestEngine()
    const { runs } = t.engine
    for (const call of [
      runs.retrieve('run_x'),
      runs.poll('run_x'),
      runs.cancel('run_x'),
      runs.replay('run_x'),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'ERR_RUN_NOT_FOUND', message: /"run_x"/ as unknown })
    }
  })
})

describe('runs.poll', () => {
  it('gives the run as soon as it has ended, however it did', async () => {
    const failing = bodyTask(() => Promise.reject(new Error('no')))
    await using t = await createTestEngine({ tasks: [nap, failing] })
    const start = t.clock.now()
    const rested = await t.engine.runs.poll(await t.engine.trigger(nap, null))
    expect(rested).toMatchObject({ status: 'COMPLETED', output: 'rested', waitingOn: [] })
    expect(t.clock.now()).toBe(start + 3_600_000)
    expect(await t.engine.runs.poll(await t.engine.trigger(failing, null))).toMatchObject({
      status: 'FAILED',
      error: { message: 'no' },
    })
  })

  it('in a run that is canceled meanwhile rejects, though the other run goes on', async () => {
    let caught: unknown
    const polling = bodyTask(async ({ runs }) => {
      caught = await rejection(runs.poll(napping))
    })
    let napping = ''
    await using t = await createTestEngine({
      tasks: [polling, nap],
      clock: { mode: 'manual', ioGraceMs: 10 },
    })
    napping = (await t.engine.trigger(nap, null)).id
    const run = await t.engine.trigger(polling, null)
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(run.id)
    await t.clock.settle()
    expect(caught).toBeInstanceOf(RunCanceledError)
    expect(t.engine.stats().attempts).toBe(1)
  })
})

describe('runs.list', () => {
  it('gives the newest first, page by page, or all of them when it is iterated', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) ids.unshift((await t.engine.trigger(double, n)).id)
    const all: string[] = []
    for await (const run of t.engine.runs.list({ limit: 3 })) all.push(run.id)
    expect(all).toEqual(ids)

    const first = await t.engine.runs.list({ limit: 3 })
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 3))
    expect([first.hasNextPage(), first.hasPreviousPage()]).toEqual([true, false])
    const second = await first.getNextPage()
    expect(second.data.map(({ id }) => id)).toEqual(ids.slice(3, 6))
    const third = await second.getNextPage()
    expect(third.data.map(({ id }) => id)).toEqual(ids.slice(6))
    expect(third.hasNextPage()).toBe(false)
    await expect(third.getNextPage()).rejects.toThrow(RangeError)
    const back = await third.getPreviousPage()
    expect(back.data.map(({ id }) => id)).toEqual(ids.slice(3, 6))
  })

  it('keeps its pages while runs are added and end', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    for (let n = 0; n < 4; n += 1) await t.engine.trigger(double, n)
    const first = await t.engine.runs.list({ limit: 2 })
    await t.engine.trigger(double, 99)
    const second = await first.getNextPage()
    expect(second.data.map(({ payload }) => payload)).toEqual([1, 0])
  })

  it('lists the runs below a root, however deep', async () => {
    const parent = task({
      id: 'parent',
      run: async () => {
        await double.trigger(1, { idempotencyKey: 'a key of its own' })
        await child.triggerAndWait(undefined)
      },
    })
    const child = task({ id: 'child', run: () => double.triggerAndWait(2).unwrap() })
    await using t = await createTestEngine({ tasks: [double, parent, child] })
    const root = await t.engine.trigger(parent, undefined)
    await t.engine.trigger(double, 3)
    await t.clock.settle()
    const below = (await t.engine.runs.list({ root: root.id })).data
    expect(below.map(({ taskIdentifier }) => taskIdentifier)).toEqual(['double', 'child', 'double'])
    expect(new Set(below.map(({ rootId }) => rootId))).toEqual(new Set([root.id]))
    const narrowed = await t.engine.runs.list({ root: root.id, taskIdentifier: 'double', limit: 1 })
    expect([narrowed.data[0]?.payload, narrowed.hasNextPage()]).toEqual([2, true])
    expect((await t.engine.runs.list({ root: below[1]?.id ?? '' })).data).toEqual([])
    await expect(t.engine.runs.list({ root: '' })).rejects.toThrow(TypeError)
  })

  it('filters by status, task, tag and time of creation, all at once', async () => {
    await using t = await createTestEngine({ tasks: [double, nap], clock: { mode: 'manual' } })
    const start = t.clock.now()
    const old = await t.engine.trigger(double, 1, { tags: ['old', 'both'] })
    await t.clock.advance('1h')
    const young = await t.engine.trigger(double, 2, { tags: ['young', 'both'] })
    const waiting = await t.engine.trigger(nap, null)
    await t.clock.settle()
    const idsOf = async (params: object): Promise<string[]> =>
      (await t.engine.runs.list(params)).data.map(({ id }) => id)
    expect(await idsOf({ status: 'WAITING' })).toEqual([waiting.id])
    expect(await idsOf({ status: ['COMPLETED', 'WAITING'] })).toEqual([waiting.id, young.id, old.id])
    expect(await idsOf({ taskIdentifier: 'double' })).toEqual([young.id, old.id])
    expect(await idsOf({ taskIdentifier: ['nap', 'other'] })).toEqual([waiting.id])
    expect(await idsOf({ tag: 'both' })).toEqual([young.id, old.id])
    expect(await idsOf({ tag: ['old', 'young'] })).toEqual([young.id, old.id])
    expect(await idsOf({ tags: ['old', 'young'] })).toEqual([young.id, old.id])
    expect(await idsOf({ tag: 'none' })).toEqual([])
    expect(await idsOf({ period: '30m' })).toEqual([waiting.id, young.id])
    expect(await idsOf({ to: new Date(start) })).toEqual([old.id])
    expect(await idsOf({ from: start + 1, taskIdentifier: 'double' })).toEqual([young.id])
    expect(await idsOf({ period: '2h', from: start + 1, tag: 'old' })).toEqual([])
    expect(await idsOf({ status: [] as RunStatus[] })).toHaveLength(3)
  })

  it.each([{ limit: 0 }, { limit: 101 }, { limit: 1.5 }, { period: 'soon' }, { from: Number.NaN }])(
    'refuses %o',
    async (params) => {
      await using t = await createTestEngine()
      await expect(t.engine.runs.list(params)).rejects.toThrow(RangeError)
    },
  )
})

describe('runs.replay', () => {
  it('starts a new run of the same task with the same payload, tags and options', async () => {
    const seen: unknown[] = []
    const failing = task({
      id: 'failing',
      run: (payload: { n: number }, { ctx }) => {
        seen.push([payload, ctx.run.tags])
        throw new Error('no')
      },
    })
    await using t = await createTestEngine({ tasks: [failing] })
    const options = { tags: ['a'], maxAttempts: 2, metadata: { once: true }, idempotencyKey: 'k' }
    const original = await t.engine.trigger(failing, { n: 1 }, options)
    await original.outcome()
    const replayed = await t.engine.runs.replay(original)
    expect(replayed).toMatchObject({ isCached: false })
    expect(replayed.id).not.toBe(original.id)
    expect(await replayed.outcome()).toMatchObject({ ok: false, id: replayed.id })
    expect(seen).toEqual(Array(4).fill([{ n: 1 }, ['a']]))
    const record = await t.engine.runs.retrieve(replayed.id)
    expect(record).toMatchObject({ attemptCount: 2, rootId: replayed.id })
    expect(record).not.toHaveProperty('idempotencyKey')
    expect(record).not.toHaveProperty('parentId')
  })

  it('of a run whose task is gone says so', async () => {
    const storage = memoryStorage()
    const old = await createTestEngine({ tasks: [double], storage })
    const { id } = await old.engine.runs.poll(await old.engine.trigger(double, 1))
    await old.close()
    await using t = await createTestEngine({ tasks: [nap], storage })
    await expect(t.engine.runs.replay(id)).rejects.toMatchObject({ code: 'ERR_TASK_NOT_FOUND' })
  })
})

describe('runs.cancel', () => {
  it.each<[RunStatus, object]>([
    ['DELAYED', { delay: '1h' }],
    ['QUEUED', {}],
  ])('of a run that is %s: it never starts', async (status, options) => {
    let calls = 0
    const counted = bodyTask(() => (calls += 1))
    const busy = bodyTask(() => t.clock.sleep('1m'), { id: 'busy' })
    await using t = await createTestEngine({
      tasks: [counted, busy],
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    await t.engine.trigger(busy, null)
    const run = await t.engine.trigger(counted, null, options)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run.id)).status).toBe(status)
    expect(await t.engine.runs.cancel(run)).toEqual({ id: run.id })
    const canceled = await t.engine.runs.retrieve(run.id)
    expect(canceled).toMatchObject({
      status: 'CANCELED',
      isCanceled: true,
      isCancelled: true,
      isCompleted: true,
    })
    expect(canceled.finishedAt).toEqual(new Date(t.clock.now()))
    await expect(run.result()).rejects.toMatchObject({ code: 'ERR_RUN_CANCELED', runId: run.id })
    await t.clock.advance('2h')
    expect(calls).toBe(0)
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('of a run that executes: CANCELED at once, its signal is aborted, whatever it calls rejects', async () => {
    const gate = createDeferred<void>()
    const seen: unknown[] = []
    const stubborn = bodyTask(async ({ signal, wait, metadata, tasks, runs, ctx }) => {
      seen.push(signal.aborted)
      await gate.promise
      seen.push(signal.aborted, signal.reason)
      const calls = [
        wait.createToken(),
        wait.for({ seconds: 1 }),
        wait.forToken('waitpoint_x'),
        wait.forToken('waitpoint_x').unwrap(),
        metadata.flush(),
        metadata.stream('draft', source()),
        tasks.trigger<typeof double>('double', 1),
        tasks.triggerAndWait<typeof double>('double', 1),
        tasks.batchTrigger<typeof double>('double', [{ payload: 1 }]),
        runs.retrieve(ctx.run.id),
        runs.poll(ctx.run.id),
      ]
      for (const call of calls) seen.push(await rejection(call))
      metadata.set('late', true)
      return 'ignored'
    })
    await using t = await createTestEngine({ tasks: [stubborn, double], clock: { ioGraceMs: 10 } })
    const run = await t.engine.trigger(stubborn, null)
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(run.id)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'CANCELED' })
    gate.resolve()
    await t.clock.settle()
    const [before, after, ...errors] = seen
    expect([before, after]).toEqual([false, true])
    expect(errors).toHaveLength(12)
    for (const error of errors) {
      expect(error).toBeInstanceOf(RunCanceledError)
      expect(error).toMatchObject({ code: 'ERR_RUN_CANCELED', runId: run.id })
    }
    const after2 = await t.engine.runs.retrieve(run.id)
    expect(after2).toMatchObject({ status: 'CANCELED', metadata: {} })
    expect(after2).not.toHaveProperty('output')
    expect((await t.engine.runs.list()).data).toHaveLength(1)
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('between two attempts: there is no other one', async () => {
    let calls = 0
    const flaky = bodyTask(
      () => {
        calls += 1
        throw new Error('no')
      },
      { retry: { maxAttempts: 3 } },
    )
    await using t = await createTestEngine({ tasks: [flaky], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(flaky, null)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('DELAYED')
    await t.engine.runs.cancel(run.id)
    await t.clock.advance('1h')
    expect(calls).toBe(1)
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('CANCELED')
  })

  it('while its streams are drained: CANCELED, and the source is stopped', async () => {
    let isStopped = false
    const streaming = bodyTask(async ({ metadata, signal }) => {
      await metadata.stream('draft', {
        async *[Symbol.asyncIterator]() {
          try {
            yield 'first'
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
          } finally {
            isStopped = true
          }
        },
      })
      return 'returned'
    })
    await using t = await createTestEngine({ tasks: [streaming], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(streaming, null)
    await t.clock.settle()
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'EXECUTING' })
    expect(t.engine.stats()).toMatchObject({ attempts: 1, executing: 0 })
    await t.engine.runs.cancel(run.id)
    await t.clock.settle()
    expect(isStopped).toBe(true)
    await expect(run.result()).rejects.toMatchObject({ code: 'ERR_RUN_CANCELED' })
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })

  it('of a run that has ended changes nothing', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const run = await t.engine.trigger(double, 1)
    await run.result()
    const before = await t.engine.runs.retrieve(run.id)
    expect(await t.engine.runs.cancel(run)).toEqual({ id: run.id })
    expect(await t.engine.runs.retrieve(run.id)).toEqual(before)
    expect(await run.result()).toBe(2)
  })

  it('twice at once is one cancel', async () => {
    await using t = await createTestEngine({ tasks: [nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(nap, null)
    await t.clock.settle()
    const statuses: string[] = []
    t.engine.on('run', ({ status }) => void statuses.push(status))
    await Promise.all([t.engine.runs.cancel(run), t.engine.runs.cancel(run)])
    await t.clock.settle()
    expect(statuses).toEqual(['CANCELED'])
  })

  it('cancels the children the run waits for, and theirs, and no others', async () => {
    const parent = bodyTask(
      async ({ tasks }) => {
        await tasks.trigger<typeof nap>('nap', null, { tags: 'free' })
        await Promise.all([nap.triggerAndWait(null, { tags: 'awaited' }), middle.triggerAndWait(null)])
      },
      { id: 'parent' },
    )
    const middle = bodyTask(() => nap.triggerAndWait(null, { tags: 'awaited' }), { id: 'middle' })
    await using t = await createTestEngine({ tasks: [parent, middle, nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run)
    const ofTag = async (tag: string): Promise<string[]> =>
      (await t.engine.runs.list({ tag })).data.map(({ status }) => status)
    expect(await ofTag('awaited')).toEqual(['CANCELED', 'CANCELED'])
    expect(await ofTag('free')).toEqual(['WAITING'])
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject({ attempts: 1, waits: 1 })
    await t.clock.advance('1h')
  })

  it('by the run itself cancels the children it waits for as well', async () => {
    let caught: unknown
    const parent = bodyTask(async ({ runs, ctx }) => {
      const waiting = nap.triggerAndWait(null)
      await rejection(t.engine.runs.retrieve('run_x'))
      await runs.cancel(ctx.run.id)
      caught = await rejection(waiting)
    })
    await using t = await createTestEngine({ tasks: [parent, nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('CANCELED')
    expect(caught).toBeInstanceOf(RunCanceledError)
    expect((await t.engine.runs.list({ taskIdentifier: 'nap' })).data[0]!.status).toBe('CANCELED')
    await t.clock.advance('2h')
  })

  it('of a child leaves the parent to deal with it', async () => {
    const parent = bodyTask(async () => {
      const result = await nap.triggerAndWait(null)
      return result.ok ? 'rested' : (result.error as { code?: string }).code
    })
    await using t = await createTestEngine({ tasks: [parent, nap], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    await t.engine.runs.cancel((await t.engine.runs.list({ taskIdentifier: 'nap' })).data[0]!)
    expect(await t.clock.until(run.result())).toBe('ERR_RUN_CANCELED')
  })

  it('wins against a finish that comes later, and loses against one that came first', async () => {
    const quick = bodyTask(() => 'quick')
    await using t = await createTestEngine({ tasks: [quick] })
    for (let turns = 0; turns < 30; turns += 1) {
      const run = await t.engine.trigger(quick, null)
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
      await t.engine.runs.cancel(run)
      const outcome = await run.outcome()
      const { status } = await t.engine.runs.retrieve(run.id)
      expect(status).toBe(outcome.ok ? 'COMPLETED' : 'CANCELED')
    }
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })
})

async function* source(): AsyncGenerator<string> {
  yield 'never'
}
