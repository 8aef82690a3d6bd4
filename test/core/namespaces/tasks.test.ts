import { describe, expect, it } from 'vitest'
import { RunFailedError, SubtaskUnwrapError, task, tasks, type Engine, WaitpointError } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { z } from 'zod'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

const MINUTE_MS = 60_000

const double = task({ id: 'double', run: (n: number) => n * 2 })
const broken = task({
  id: 'broken',
  run: (_payload: null): string => {
    throw new TypeError('no such thing')
  },
})
const strict = task({
  id: 'strict',
  schema: z.object({ name: z.string(), age: z.coerce.number().int() }),
  run: ({ name, age }) => `${name} ${age + 1}`,
})

function codeOf(error: unknown): string | undefined {
  return error instanceof WaitpointError ? error.code : undefined
}

async function countRuns(engine: Engine): Promise<number> {
  return (await engine.runs.list({ limit: 100 })).data.length
}

describe('trigger', () => {
  it('runs the task and gives its output', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const run = await t.engine.trigger(double, 21)
    expect(run).toMatchObject({ id: expect.stringMatching(/^run_/) as unknown, isCached: false })
    expect(await run.result()).toBe(42)
    expect(await run.outcome()).toEqual({ ok: true, id: run.id, taskIdentifier: 'double', output: 42 })
  })

  it('takes no payload where the payload may be undefined', async () => {
    const hello = task({ id: 'hello', run: (name?: string) => name ?? 'nameless' })
    const parent = task({ id: 'parent', run: () => hello.triggerAndWait().unwrap() })
    await using t = await createTestEngine({ tasks: [hello, parent] })
    const runs = [
      await t.engine.trigger(hello),
      await t.engine.trigger(parent),
      await t.engine.tasks.trigger('hello'),
    ]
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(['nameless', 'nameless', 'nameless'])
  })

  it('is told before the execution, also of a run that executes before storage has acknowledged it', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({ tasks: [double], storage: steered.storage })
    const told: string[] = []
    t.engine.on('run', ({ id, status }) => void told.push(`${id} ${status}`))
    const acknowledge = steered.holdAnswer('runs.insert')
    const first = t.engine.trigger(double, 1)
    await until(() => steered.calls.includes('runs.insert'))
    const second = await t.engine.trigger(double, 2)
    await second.result()
    await until(() => told.some((line) => !line.startsWith(second.id) && line.endsWith('COMPLETED')))
    acknowledge()
    const { id } = await first
    await turn()
    const lines = ['QUEUED', 'EXECUTING', 'COMPLETED'].map((status) => `${id} ${status}`)
    expect(told.filter((line) => line.startsWith(id))).toEqual(lines)
  })

  it('takes the id of a task as well', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const run = await t.engine.tasks.trigger<typeof double>('double', 2)
    expect(await run.result()).toBe(4)
  })

  it('gives an outcome, which never rejects, or a result, which does, of a run that fails', async () => {
    await using t = await createTestEngine({ tasks: [broken] })
    const run = await t.engine.trigger(broken, null)
    expect(await run.outcome()).toMatchObject({
      ok: false,
      id: run.id,
      taskIdentifier: 'broken',
      error: { code: 'ERR_RUN_FAILED' },
    })
    const error = await rejection(run.result())
    expect(error).toBeInstanceOf(RunFailedError)
    expect(error).toMatchObject({ code: 'ERR_RUN_FAILED', runId: run.id, name: 'RunFailedError' })
    expect((error as Error).cause).toMatchObject({ name: 'TypeError', message: 'no such thing' })
  })

  it('gives the result to any number of readers, early and late', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const run = await t.engine.trigger(double, 1)
    expect(await Promise.all([run.result(), run.result(), run.result()])).toEqual([2, 2, 2])
    expect(await run.result()).toBe(2)
  })

  it('gives the task a payload of its own', async () => {
    const payload = { list: [1] }
    const change = task({ id: 'change', run: (given: { list: number[] }) => given.list.push(2) })
    await using t = await createTestEngine({ tasks: [change] })
    await (await t.engine.trigger(change, payload)).result()
    expect(payload).toEqual({ list: [1] })
  })

  it('runs without a payload and without an output', async () => {
    const seen: unknown[] = []
    const bare = task({ id: 'bare', run: (payload: undefined) => void seen.push(payload) })
    await using t = await createTestEngine({ tasks: [bare] })
    const outcome = await (await t.engine.trigger(bare, undefined)).outcome()
    expect(outcome).toMatchObject({ ok: true, output: undefined })
    expect(seen).toEqual([undefined])
  })

  describe('with an idempotency key', () => {
    it('answers the run it named first, whatever became of it', async () => {
      let calls = 0
      const once = bodyTask(() => (calls += 1))
      await using t = await createTestEngine({ tasks: [once] })
      const first = await t.engine.trigger(once, null, { idempotencyKey: 'k' })
      const second = await t.engine.trigger(once, null, { idempotencyKey: 'k' })
      expect(second).toMatchObject({ id: first.id, isCached: true })
      expect(await second.result()).toBe(1)
      const third = await t.engine.trigger(once, null, { idempotencyKey: 'k' })
      expect(third).toMatchObject({ id: first.id, isCached: true })
      expect(calls).toBe(1)
    })

    it('starts a new run when the key has expired, an hour later unless told otherwise', async () => {
      await using t = await createTestEngine({ tasks: [double], clock: { mode: 'manual' } })
      const options = { idempotencyKey: 'k' }
      const first = await t.engine.trigger(double, 1, options)
      await t.clock.advance(60 * MINUTE_MS - 1)
      expect((await t.engine.trigger(double, 1, options)).id).toBe(first.id)
      await t.clock.advance(1)
      const second = await t.engine.trigger(double, 1, { ...options, idempotencyKeyTTL: '1s' })
      expect(second).toMatchObject({ isCached: false })
      expect(second.id).not.toBe(first.id)
      await t.clock.advance(999)
      expect((await t.engine.trigger(double, 1, options)).id).toBe(second.id)
      await t.clock.advance(1)
      expect((await t.engine.trigger(double, 1, options)).isCached).toBe(false)
      expect((await t.engine.runs.retrieve(first.id)).idempotencyKey).toBe('k')
    })

    it('keeps the keys of tasks apart', async () => {
      await using t = await createTestEngine({ tasks: [double, broken] })
      await t.engine.trigger(double, 1, { idempotencyKey: 'k' })
      expect((await t.engine.trigger(broken, null, { idempotencyKey: 'k' })).isCached).toBe(false)
    })

    it('starts one run when it is triggered many times at once', async () => {
      await using t = await createTestEngine({ tasks: [double] })
      const runs = await Promise.all(
        Array.from({ length: 10 }, () => t.engine.trigger(double, 1, { idempotencyKey: 'k' })),
      )
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1)
      expect(runs.filter(({ isCached }) => !isCached)).toHaveLength(1)
    })

    it.each([
      ['empty', ''],
      ['of more than 2,048 characters', 'x'.repeat(2_049)],
    ])('refuses a key that is %s', async (_what, idempotencyKey) => {
      await using t = await createTestEngine({ tasks: [double] })
      await expect(t.engine.trigger(double, 1, { idempotencyKey })).rejects.toThrow(/1 to 2048 characters/)
      expect(await countRuns(t.engine)).toBe(0)
    })
  })

  describe('with a delay', () => {
    it('starts at that instant and not before', async () => {
      const startedAt: number[] = []
      const late = bodyTask(() => void startedAt.push(t.clock.now()))
      await using t = await createTestEngine({ tasks: [late], clock: { mode: 'manual' } })
      const run = await t.engine.trigger(late, null, { delay: '10m' })
      const dueAt = t.clock.now() + 10 * MINUTE_MS
      await t.clock.settle()
      expect(await t.engine.runs.retrieve(run.id)).toMatchObject({
        status: 'DELAYED',
        isQueued: true,
        delayedUntil: new Date(dueAt),
      })
      await t.clock.advance(10 * MINUTE_MS - 1)
      expect(startedAt).toEqual([])
      await t.clock.advance(1)
      expect(startedAt).toEqual([dueAt])
      expect((await t.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
    })

    it('takes a Date, and starts at once when it is now', async () => {
      await using t = await createTestEngine({ tasks: [double], clock: { mode: 'manual' } })
      const later = await t.engine.trigger(double, 1, { delay: new Date(t.clock.now() + 5) })
      const now = await t.engine.trigger(double, 1, { delay: new Date(t.clock.now()) })
      await t.clock.settle()
      expect((await t.engine.runs.retrieve(now.id)).status).toBe('COMPLETED')
      expect((await t.engine.runs.retrieve(later.id)).status).toBe('DELAYED')
      await t.clock.advance(5)
      expect((await t.engine.runs.retrieve(later.id)).status).toBe('COMPLETED')
    })

    it('starts runs in the order in which they are due', async () => {
      const order: number[] = []
      const late = task({ id: 'late', run: (n: number) => void order.push(n) })
      await using t = await createTestEngine({ tasks: [late], clock: { mode: 'manual' } })
      for (const n of [3, 1, 2]) await t.engine.trigger(late, n, { delay: `${n}s` })
      await t.clock.advance('3s')
      expect(order).toEqual([1, 2, 3])
    })
  })

  describe('with a ttl', () => {
    it('gives up a run that could not start in time', async () => {
      const busy = bodyTask(() => t.clock.sleep('61s'))
      await using t = await createTestEngine({ tasks: [busy], concurrency: 1, clock: { mode: 'manual' } })
      const first = await t.engine.trigger(busy, null)
      const second = await t.engine.trigger(busy, null, { ttl: 60 })
      const third = await t.engine.trigger(busy, null, { ttl: '62s' })
      await t.clock.advance('60s')
      const expired = await t.engine.runs.retrieve(second.id)
      expect(expired).toMatchObject({ status: 'EXPIRED', attemptCount: 0, isFailed: true })
      expect(expired.expiredAt).toEqual(new Date(t.clock.now()))
      expect((await t.engine.runs.retrieve(third.id)).status).toBe('QUEUED')
      await expect(second.result()).rejects.toMatchObject({ code: 'ERR_RUN_EXPIRED', runId: second.id })
      await t.clock.until(Promise.all([first.result(), third.result()]))
    })

    it('does not touch a run that has started', async () => {
      const nap = bodyTask(({ wait }) => wait.for({ hours: 1 }).then(() => 'rested'), { ttl: '1m' })
      await using t = await createTestEngine({ tasks: [nap] })
      expect(await (await t.engine.trigger(nap, null)).result()).toBe('rested')
    })

    it('counts from the end of the delay', async () => {
      await using t = await createTestEngine({ tasks: [double] })
      expect(await (await t.engine.trigger(double, 1, { ttl: '1m', delay: '1h' })).result()).toBe(2)
    })
  })

  describe('in a run', () => {
    it('makes the new run a child, which goes on by itself', async () => {
      const parent = bodyTask(async ({ tasks }) => (await tasks.trigger<typeof double>('double', 4)).id)
      await using t = await createTestEngine({ tasks: [parent, double] })
      const run = await t.engine.trigger(parent, null)
      const child = await t.engine.runs.poll(await run.result())
      expect(child).toMatchObject({ parentId: run.id, rootId: run.id, output: 8 })
    })

    it('finds the engine of the run through the task itself', async () => {
      const parent = bodyTask(async () => {
        const one = await double.trigger(1)
        const { runs } = await double.batchTrigger([{ payload: 2 }])
        return [one.id, ...runs.map(({ id }) => id)]
      })
      await using t = await createTestEngine({ tasks: [parent, double] })
      const ids = await (await t.engine.trigger(parent, null)).result()
      const children = await Promise.all(ids.map((id) => t.engine.runs.poll(id)))
      expect(children).toMatchObject([{ output: 2 }, { output: 4 }])
    })
  })

  describe('refuses, before anything is stored,', () => {
    it('a task the engine does not know', async () => {
      await using t = await createTestEngine({ tasks: [double] })
      await expect(t.engine.trigger(broken, null)).rejects.toMatchObject({
        code: 'ERR_TASK_NOT_FOUND',
        message: expect.stringContaining('"broken"') as unknown,
      })
      expect(await countRuns(t.engine)).toBe(0)
    })

    it('a payload that its schema rejects, naming the place', async () => {
      await using t = await createTestEngine({ tasks: [strict] })
      const wrong = { name: 7, age: 'x' } as unknown as { name: string; age: number }
      const error = await rejection(t.engine.trigger(strict, wrong))
      expect(error).toMatchObject({ code: 'ERR_PAYLOAD_INVALID' })
      expect((error as Error).message).toMatch(/"strict".*name: .*; age: /)
      expect(await countRuns(t.engine)).toBe(0)
      const run = await t.engine.trigger(strict, { name: 'Ada', age: '36' })
      expect(await run.result()).toBe('Ada 37')
    })

    it.each([
      ['a bigint', { at: [1n] }, '$.at[0]'],
      ['a function', { call: () => 1 }, '$.call'],
      ['a Map', new Map(), '$'],
      ['NaN', { n: Number.NaN }, '$.n'],
    ])('a payload that is not JSON: %s', async (_name, payload, path) => {
      const any = task({ id: 'any', run: (given: unknown) => given })
      await using t = await createTestEngine({ tasks: [any] })
      const error = await rejection(t.engine.trigger(any, payload))
      expect(error).toMatchObject({ code: 'ERR_NOT_SERIALIZABLE' })
      expect((error as Error).message).toContain(path)
      expect(await countRuns(t.engine)).toBe(0)
    })

    it('a payload that goes round in a circle', async () => {
      const any = task({ id: 'any', run: (given: unknown) => given })
      await using t = await createTestEngine({ tasks: [any] })
      const circle: { self?: unknown } = {}
      circle.self = circle
      await expect(t.engine.trigger(any, circle)).rejects.toMatchObject({ code: 'ERR_NOT_SERIALIZABLE' })
    })

    it('a payload whose schema is slow, when the engine is closed meanwhile', async () => {
      const gate = createDeferred<void>()
      const slow = task({
        id: 'slow',
        schema: z.number().refine(() => gate.promise.then(() => true)),
        run: (n) => n,
      })
      const t = await createTestEngine({ tasks: [slow] })
      const inserted: string[] = []
      t.engine.on('run', ({ id }) => void inserted.push(id))
      const triggering = t.engine.trigger(slow, 1).then((run) => run.id)
      const closing = t.close()
      gate.resolve()
      expect(await rejection(triggering)).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
      await closing
      expect(inserted).toEqual([])
    })
  })
})

describe('batchTrigger', () => {
  it('starts a run for each item, in order', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const { runs } = await t.engine.tasks.batchTrigger<typeof double>('double', [
      { payload: 1 },
      { payload: 2, options: { tags: 'two' } },
      { payload: 3 },
    ])
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([2, 4, 6])
    expect((await t.engine.runs.retrieve(runs[1]!.id)).tags).toEqual(['two'])
  })

  it('starts nothing when one of them is wrong', async () => {
    await using t = await createTestEngine({ tasks: [strict] })
    const good = { payload: { name: 'Ada', age: 36 } }
    const bad = { payload: { name: 'Bob', age: 'old' } }
    const wrong = { ...good, options: { delay: 'soon' } }
    for (const last of [bad, wrong]) {
      await expect(t.engine.tasks.batchTrigger<typeof strict>('strict', [good, good, last])).rejects.toThrow()
    }
    await t.clock.settle()
    expect(await countRuns(t.engine)).toBe(0)
  })

  it('takes keys, also the same one twice', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const item = { payload: 1, options: { idempotencyKey: 'k' } }
    const { runs } = await t.engine.tasks.batchTrigger<typeof double>('double', [item, item])
    expect(runs.map(({ isCached }) => isCached)).toEqual([false, true])
    expect(runs[0]!.id).toBe(runs[1]!.id)
  })

  it('of nothing is nothing', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    expect(await t.engine.tasks.batchTrigger<typeof double>('double', [])).toEqual({ runs: [] })
  })
})

describe('triggerAndWait', () => {
  it('refuses to wait for the run itself, and for a live run above it', async () => {
    const codes: unknown[] = []
    const note = (error: unknown): void => void codes.push(codeOf(error))
    const self = task({
      id: 'self',
      run: () => tasks.triggerAndWait('self', null, { idempotencyKey: 'self' }).catch(note),
    })
    const inner = task({
      id: 'inner',
      run: () => tasks.triggerAndWait('outer', null, { idempotencyKey: 'outer' }).catch(note),
    })
    const outer = task({ id: 'outer', run: () => inner.triggerAndWait(undefined).unwrap() })
    await using t = await createTestEngine({ tasks: [self, inner, outer] })
    await (await t.engine.trigger(self, undefined, { idempotencyKey: 'self' })).outcome()
    await (await t.engine.trigger(outer, undefined, { idempotencyKey: 'outer' })).outcome()
    expect(codes).toEqual(['ERR_WAIT_CYCLE', 'ERR_WAIT_CYCLE'])
  })

  it('waits for the run and gives its outcome', async () => {
    const parent = bodyTask(() => double.triggerAndWait(5))
    await using t = await createTestEngine({ tasks: [parent, double] })
    const run = await t.engine.trigger(parent, null)
    const result = await run.result()
    expect(result).toEqual({
      ok: true,
      id: expect.any(String) as unknown,
      taskIdentifier: 'double',
      output: 10,
    })
    expect(await t.engine.runs.retrieve(result.id)).toMatchObject({ parentId: run.id, rootId: run.id })
  })

  it('parks the run, shows what it waits for, and takes no slot meanwhile', async () => {
    const nap = task({ id: 'nap', run: (_payload: null, { wait }) => wait.for({ hours: 1 }) })
    const parent = bodyTask(() =>
      nap
        .triggerAndWait(null)
        .unwrap()
        .then(() => 'both rested'),
    )
    await using t = await createTestEngine({
      tasks: [parent, nap],
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    const parked = await t.engine.runs.retrieve(run.id)
    expect(parked.status).toBe('WAITING')
    const child = (await t.engine.runs.list({ taskIdentifier: 'nap' })).data[0]!
    expect(parked.waitingOn).toEqual([{ id: `run:${child.id}`, kind: 'RUN' }])
    expect(t.engine.stats().executing).toBe(0)
    expect(await t.clock.until(run.result())).toBe('both rested')
  })

  it('of a failed run is not ok, and throws a SubtaskUnwrapError when it is unwrapped', async () => {
    const seen: unknown[] = []
    const parent = bodyTask(async () => {
      const result = await broken.triggerAndWait(null)
      seen.push(result.ok, result.ok ? undefined : result.error)
      return rejection(broken.triggerAndWait(null).unwrap()).then((error) => void seen.push(error))
    })
    await using t = await createTestEngine({ tasks: [parent, broken] })
    await (await t.engine.trigger(parent, null)).result()
    const [ok, error, unwrapped] = seen
    expect(ok).toBe(false)
    expect(error).toMatchObject({ code: 'ERR_RUN_FAILED', cause: { message: 'no such thing' } })
    expect(unwrapped).toBeInstanceOf(SubtaskUnwrapError)
    expect(unwrapped).toMatchObject({
      code: 'ERR_SUBTASK_FAILED',
      taskId: 'broken',
      cause: { code: 'ERR_RUN_FAILED', cause: { name: 'TypeError' } },
    })
    // Of the engine alone they would tell.
    for (const { name, message, stack } of [error, unwrapped] as Error[])
      expect(stack).toBe(`${name}: ${message}`)
  })

  it.each([
    ['CANCELED', 'ERR_RUN_CANCELED'],
    ['EXPIRED', 'ERR_RUN_EXPIRED'],
    ['TIMED_OUT', 'ERR_RUN_TIMED_OUT'],
  ])('is not ok when the run becomes %s', async (status, code) => {
    const child = task({
      id: 'child',
      maxDuration: '1m',
      run: (_payload: null, { wait }) =>
        status === 'CANCELED' ? wait.for({ hours: 1 }) : t.clock.sleep('1h'),
    })
    const parent = bodyTask(async () => {
      const result = await child.triggerAndWait(null, status === 'EXPIRED' ? { delay: '1h', ttl: 0 } : {})
      return result.ok ? 'ok' : codeOf(result.error)
    })
    await using t = await createTestEngine({ tasks: [parent, child], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    const { id } = (await t.engine.runs.list({ taskIdentifier: 'child' })).data[0]!
    if (status === 'CANCELED') await t.engine.runs.cancel(id)
    expect(await t.clock.until(run.result())).toBe(code)
    expect((await t.engine.runs.retrieve(id)).status).toBe(status)
    await t.clock.advance('1h')
  })

  it('with a key that was used before waits for the run it named, or goes on at once', async () => {
    let calls = 0
    const counted = task({ id: 'counted', run: (_payload: null) => (calls += 1) })
    const parent = bodyTask(async () => {
      const first = await counted.triggerAndWait(null, { idempotencyKey: 'k' })
      const second = await counted.triggerAndWait(null, { idempotencyKey: 'k' })
      return [first, second].map((result) => (result.ok ? [result.id, result.output] : undefined))
    })
    await using t = await createTestEngine({ tasks: [parent, counted] })
    const [first, second] = await (await t.engine.trigger(parent, null)).result()
    expect(second).toEqual(first)
    expect(calls).toBe(1)
  })

  it('rejects, and stores nothing, for a payload that is not JSON or that the schema rejects', async () => {
    const any = task({ id: 'any', run: (given: unknown) => given })
    const parent = bodyTask(async () => {
      const wrong = { name: 1, age: 1 } as unknown as { name: string; age: number }
      const errors = [
        await rejection(any.triggerAndWait({ big: 1n })),
        await rejection(any.triggerAndWait(() => undefined).unwrap()),
        await rejection(strict.triggerAndWait(wrong)),
      ]
      return errors.map((error) => (error as { code: string }).code)
    })
    await using t = await createTestEngine({ tasks: [parent, any, strict] })
    const run = await t.engine.trigger(parent, null)
    expect(await run.result()).toEqual([
      'ERR_NOT_SERIALIZABLE',
      'ERR_NOT_SERIALIZABLE',
      'ERR_PAYLOAD_INVALID',
    ])
    expect(await countRuns(t.engine)).toBe(1)
  })

  it('outside of a run, or in a run of another engine, rejects and says so', async () => {
    await using t = await createTestEngine({ tasks: [double] })
    const misuse = (): Promise<unknown> =>
      rejection(t.engine.tasks.triggerAndWait<typeof double>('double', 1))
    expect(await misuse()).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    await expect(t.engine.tasks.triggerAndWait<typeof double>('double', 1).unwrap()).rejects.toThrow(/inside/)

    const stranger = bodyTask(async () => codeOf(await misuse()))
    await using other = await createTestEngine({ tasks: [stranger] })
    expect(await (await other.engine.trigger(stranger, null)).result()).toBe('ERR_OTHER_ENGINE')
    expect(await countRuns(t.engine)).toBe(0)
  })
})

describe('triggerAndWait with options that are no JSON', () => {
  it('says what is wrong with them', async () => {
    const tags: unknown[] = []
    tags.push(tags)
    const queue: Record<string, unknown> = { name: 'q' }
    queue['own'] = queue
    const metadata: Record<string, unknown> = {}
    metadata['own'] = metadata
    const parent = bodyTask(async () => {
      const wrong = [{ tags }, { metadata }, { concurrencyKey: queue }, { queue: { name: queue } }]
      const errors = wrong.map((options) => rejection(double.triggerAndWait(1, options as never)))
      const { ok } = await double.triggerAndWait(1, { queue } as never)
      return [ok, ...(await Promise.all(errors)).map((error) => (error as Error).message)]
    })
    await using t = await createTestEngine({ tasks: [parent, double] })
    expect(await (await t.engine.trigger(parent, null)).result()).toEqual([
      true,
      expect.stringContaining('Cannot use tag'),
      expect.stringContaining('Cannot store metadata: $.own is not JSON: a cycle'),
      expect.stringContaining('concurrencyKey'),
      expect.stringContaining('queue.name'),
    ])
  })
})

describe('batchTriggerAndWait', () => {
  it('gives the results in the order of the items', async () => {
    const nap = task({
      id: 'nap',
      run: async (seconds: number, { wait }) => {
        await wait.for({ seconds })
        if (seconds === 2) throw new Error('nightmare')
        return seconds
      },
    })
    const parent = bodyTask(async () => {
      const { runs } = await nap.batchTriggerAndWait([{ payload: 3 }, { payload: 2 }, { payload: 1 }])
      return runs.map((run) => (run.ok ? run.output : (run.error.cause as Error).message))
    })
    await using t = await createTestEngine({ tasks: [parent, nap] })
    expect(await (await t.engine.trigger(parent, null)).result()).toEqual([3, 'nightmare', 1])
  })

  it('starts nothing when one of them is wrong', async () => {
    const parent = bodyTask(async () => {
      const good = { payload: { name: 'Ada', age: 1 } }
      const bad = { payload: { name: 'Bob', age: 'old' } }
      const worse = { payload: { name: 'Cay', age: 1n } }
      const error = await rejection(strict.batchTriggerAndWait([good, bad, worse]))
      return (error as { code: string }).code
    })
    await using t = await createTestEngine({ tasks: [parent, strict] })
    expect(await (await t.engine.trigger(parent, null)).result()).toBe('ERR_NOT_SERIALIZABLE')
    await t.clock.settle()
    expect(await countRuns(t.engine)).toBe(1)
  })

  it('need not be awaited, like any wait: a run that is canceled meanwhile does not end the process', async () => {
    const rejected: unknown[] = []
    const listener = (reason: unknown): void => void rejected.push(reason)
    process.on('unhandledRejection', listener)
    let batch: Promise<unknown> | undefined
    const child = bodyTask(({ wait }) => wait.for({ hours: 2 }), { id: 'child' })
    const parent = bodyTask(async ({ wait }) => {
      batch = child.batchTriggerAndWait([{ payload: null }])
      await wait.for({ hours: 1 })
      await batch
    })
    await using t = await createTestEngine({ tasks: [parent, child], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(parent, null)
    await t.clock.settle()
    await t.engine.runs.cancel(run.id)
    await turn()
    process.off('unhandledRejection', listener)
    expect(rejected).toEqual([])
    expect(await rejection(batch!)).toMatchObject({ code: 'ERR_RUN_CANCELED' })
  })

  it('of nothing is nothing', async () => {
    const parent = bodyTask(() => double.batchTriggerAndWait([]))
    await using t = await createTestEngine({ tasks: [parent, double] })
    expect(await (await t.engine.trigger(parent, null)).result()).toEqual({ runs: [] })
  })
})
