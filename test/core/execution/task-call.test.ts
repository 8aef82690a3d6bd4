import { describe, expect, it } from 'vitest'
import {
  AbortTaskRunError,
  createEngine,
  task,
  type EngineErrorEvent,
  type RetryDecision,
  type TaskOptions,
  wait,
} from 'waitpoint'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { z } from 'zod'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'

function errorsOf(t: TestEngine): EngineErrorEvent[] {
  const events: EngineErrorEvent[] = []
  t.engine.on('error', (event) => void events.push(event))
  return events
}

describe('the context of a run', () => {
  it('knows the run, the task and the attempt', async () => {
    const seen: unknown[] = []
    const keep = bodyTask(({ ctx }) => void seen.push(ctx))
    await using t = await createTestEngine({ tasks: [keep], clock: { mode: 'manual' } })
    const createdAt = new Date(t.clock.now())
    const run = await t.engine.trigger(keep, null, { tags: ['a', 'b'], delay: 5 })
    await t.clock.advance(5)
    const startedAt = new Date(t.clock.now())
    expect(seen).toEqual([
      {
        run: {
          id: run.id,
          tags: ['a', 'b'],
          createdAt,
          startedAt,
          queue: 'task/body',
          maxAttempts: 1,
          isReplay: false,
          rootId: run.id,
        },
        task: { id: 'body' },
        attempt: { number: 1, policyNumber: 1, startedAt },
      },
    ])
  })

  it('has the limit of the trigger, else of the task, and knows a replay', async () => {
    const seen: unknown[] = []
    const limited = bodyTask(
      ({ ctx: { run } }) => void seen.push({ maxDurationMs: run.maxDurationMs, isReplay: run.isReplay }),
      { maxDuration: 60 },
    )
    await using t = await createTestEngine({ tasks: [limited] })
    await (await t.engine.trigger(limited, null)).result()
    const run = await t.engine.trigger(limited, null, { maxDuration: '5s' })
    await run.result()
    const replay = await t.engine.runs.replay(run)
    await replay.result()
    await (await t.engine.runs.replay(replay)).result()
    expect(seen).toEqual([
      { maxDurationMs: 60_000, isReplay: false },
      { maxDurationMs: 5_000, isReplay: false },
      { maxDurationMs: 5_000, isReplay: true },
      { maxDurationMs: 5_000, isReplay: true },
    ])
  })

  it('has the namespaces of its engine', async () => {
    const show = bodyTask(({ wait, metadata, runs, tasks, streams }) =>
      [wait, metadata, runs, tasks, streams].map((namespace) => typeof namespace),
    )
    await using t = await createTestEngine({ tasks: [show] })
    expect(await (await t.engine.trigger(show, null)).result()).toEqual(Array(5).fill('object'))
  })

  it('gives the payload as the schema makes it, in every attempt', async () => {
    const seen: unknown[] = []
    const parse = task({
      id: 'parse',
      schema: z.object({ n: z.string().transform(Number), unit: z.string().default('m') }),
      retry: { maxAttempts: 2, minTimeoutInMs: 0 },
      run: (payload) => {
        seen.push(payload)
        if (seen.length === 1) throw new Error('again')
      },
    })
    await using t = await createTestEngine({ tasks: [parse] })
    const run = await t.engine.trigger(parse, { n: '12' })
    await run.result()
    expect(seen).toEqual([
      { n: 12, unit: 'm' },
      { n: 12, unit: 'm' },
    ])
    expect((await t.engine.runs.retrieve(run.id)).payload).toEqual({ n: '12' })
  })

  it('does not try again what the schema no longer takes', async () => {
    let isStrict = false
    const schema = z.number().refine(() => !isStrict, 'too old')
    const moody = task({ id: 'moody', schema, retry: { maxAttempts: 5 }, run: () => 'ran' })
    await using t = await createTestEngine({ tasks: [moody], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(moody, 1, { delay: 1 })
    isStrict = true
    await t.clock.advance(1)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({
      status: 'FAILED',
      attemptCount: 1,
      error: { code: 'ERR_PAYLOAD_INVALID' },
    })
  })
})

describe('a task that throws', () => {
  it('fails when what it returns cannot even be awaited, and the others go on', async () => {
    const broken = bodyTask(() => {
      const refuse = (): never => {
        throw new Error('not to be awaited')
      }
      return Object.defineProperty(Promise.resolve(1), 'constructor', { get: refuse })
    })
    const sound = bodyTask(() => 2, { id: 'sound' })
    await using engine = createEngine({ tasks: [broken, sound] })
    const runs = [await engine.trigger(broken, null), await engine.trigger(sound, null)]
    expect(await Promise.all(runs.map((run) => run.outcome()))).toMatchObject([
      { ok: false, error: { message: expect.stringContaining('not to be awaited') as string } },
      { ok: true, output: 2 },
    ])
  })

  it.each([
    ['an error', new TypeError('oops'), { name: 'TypeError', message: 'oops' }],
    ['a string', 'oops', { name: 'Error', message: 'oops' }],
    ['undefined', undefined, { name: 'Error', message: 'undefined' }],
    ['null', null, { name: 'Error', message: 'null' }],
    ['an object', { why: 1 }, { name: 'Error', message: expect.stringContaining('why') as string }],
    ['a bigint', 1n, { name: 'Error', message: expect.stringContaining('1') as string }],
  ])('keeps what it threw: %s', async (_name, thrown: unknown, kept) => {
    const failing = bodyTask(() => {
      throw thrown
    })
    await using t = await createTestEngine({ tasks: [failing] })
    const run = await t.engine.trigger(failing, null)
    expect(await run.outcome()).toMatchObject({ ok: false, error: { cause: kept } })
    expect((await t.engine.runs.retrieve(run.id)).error).toMatchObject(kept)
  })

  it.each([
    ['a message that throws', Object.defineProperty(new Error('x'), 'message', { get: unreadable })],
    ['a name that is not JSON', Object.assign(new Error('x'), { name: 1n })],
    ['a code that throws', Object.defineProperty(new Error('x'), 'code', { get: unreadable })],
    ['no prototype', Object.create(null) as unknown],
    ['a revoked proxy', revoked()],
  ])('fails, whatever it threw: %s', async (_name, thrown) => {
    const failing = bodyTask(() => {
      throw thrown
    })
    await using t = await createTestEngine({ tasks: [failing] })
    expect(await (await t.engine.trigger(failing, null)).outcome()).toMatchObject({ ok: false })
    expect(t.engine.stats().attempts).toBe(0)
  })

  it('fails at once with AbortTaskRunError, whatever its retries', async () => {
    let calls = 0
    const aborting = bodyTask(
      () => {
        calls += 1
        throw new AbortTaskRunError('hopeless')
      },
      { retry: { maxAttempts: 5 }, catchError: () => ({ retryDelayInMs: 0 }) },
    )
    await using t = await createTestEngine({ tasks: [aborting] })
    const run = await t.engine.trigger(aborting, null)
    expect(await run.outcome()).toMatchObject({ ok: false, error: { cause: { message: 'hopeless' } } })
    expect(calls).toBe(1)
  })

  it.each([
    ['a bigint', { list: [1, 2n] }, '$.list[1]'],
    ['a function', () => 1, '$'],
    ['a circle', circle(), '$'],
    ['a Set', new Set([1]), '$'],
  ])('and one whose output is not JSON fails without another attempt: %s', async (_name, output, path) => {
    let calls = 0
    const odd = bodyTask<unknown>(
      () => {
        calls += 1
        return output
      },
      { retry: { maxAttempts: 5 }, catchError: () => ({ retryDelayInMs: 0 }) },
    )
    await using t = await createTestEngine({ tasks: [odd] })
    const run = await t.engine.trigger(odd, null)
    await expect(run.result()).rejects.toMatchObject({
      code: 'ERR_RUN_FAILED',
      cause: { code: 'ERR_NOT_SERIALIZABLE', message: expect.stringContaining(path) as unknown },
    })
    expect(calls).toBe(1)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'FAILED' })
  })
})

describe('catchError', () => {
  type Answer = RetryDecision | Promise<RetryDecision>

  /** The delays between the calls of a task that always fails, and how its run ended. */
  async function failWith(
    catchError: (calls: number) => Answer,
    options: Partial<TaskOptions<null, never>> = {},
  ): Promise<{ readonly delays: number[]; readonly message: unknown }> {
    const calledAt: number[] = []
    const failing = bodyTask(
      (): never => {
        calledAt.push(t.clock.now())
        throw new Error(`failure ${calledAt.length}`)
      },
      {
        retry: { maxAttempts: 2, minTimeoutInMs: 100, randomize: false },
        catchError: () => catchError(calledAt.length),
        ...options,
      },
    )
    await using t = await createTestEngine({ tasks: [failing] })
    const outcome = await (await t.engine.trigger(failing, null)).outcome()
    const delays = calledAt.slice(1).map((at, index) => at - calledAt[index]!)
    return { delays, message: outcome.ok ? undefined : (outcome.error.cause as Error).message }
  }

  it('leaves it to the policy when it answers nothing', async () => {
    expect(await failWith(() => undefined)).toEqual({ delays: [100], message: 'failure 2' })
    expect(await failWith(async () => ({}))).toEqual({ delays: [100], message: 'failure 2' })
  })

  it('may fail the run at once', async () => {
    expect(await failWith(() => ({ skipRetrying: true }))).toEqual({ delays: [], message: 'failure 1' })
    expect(await failWith(() => ({ skipRetrying: true, retryDelayInMs: 5 }))).toMatchObject({ delays: [] })
  })

  it('may choose the delay, also beyond the policy', async () => {
    const answers = [
      { retryDelayInMs: 7 },
      { retryDelayInMs: 0 },
      { retryDelayInMs: -5 },
      { retryDelayInMs: 1.4 },
    ]
    expect(await failWith((calls) => answers[calls - 1] ?? { skipRetrying: true })).toEqual({
      delays: [7, 0, 0, 1],
      message: 'failure 5',
    })
  })

  it('may choose the instant; one in the past is now', async () => {
    const start = Date.UTC(2000, 0, 1)
    const answers = [{ retryAt: new Date(start + 50) }, { retryAt: new Date(start) }]
    expect(await failWith((calls) => answers[calls - 1] ?? { skipRetrying: true })).toEqual({
      delays: [50, 0],
      message: 'failure 3',
    })
  })

  it('may fail the run with another error', async () => {
    const error = new Error('translated')
    expect(await failWith(() => ({ skipRetrying: true, error }))).toMatchObject({ message: 'translated' })
    expect(await failWith(() => ({ error }))).toEqual({ delays: [100], message: 'translated' })
  })

  it('that throws fails the run with what it threw', async () => {
    const throwing = (): never => {
      throw new Error('caught badly')
    }
    expect(await failWith(throwing)).toEqual({ delays: [], message: 'caught badly' })
    expect(await failWith(() => Promise.reject(new Error('later')))).toEqual({ delays: [], message: 'later' })
  })

  it.each([
    { retryAt: new Date(Number.NaN) },
    { retryDelayInMs: Number.NaN },
    { retryDelayInMs: Number.POSITIVE_INFINITY },
    { retryAt: '2030-01-01' as unknown as Date },
    { retryDelayInMs: '10s' as unknown as number },
  ])('that answers nonsense fails the run and says so: %o', async (answer) => {
    const { delays, message } = await failWith(() => answer)
    expect(delays).toEqual([])
    expect(message).toMatch(/catchError/)
  })

  it('is told the error, the delay of the policy if there is one, and what every hook is told', async () => {
    const told: unknown[] = []
    const failing = bodyTask(
      () => {
        throw new Error('no')
      },
      {
        retry: { maxAttempts: 2, minTimeoutInMs: 100, randomize: false },
        catchError: ({ payload, ctx, error, signal, ...rest }) => {
          told.push([payload, ctx.attempt.number, (error as Error).message, signal.aborted, rest])
        },
      },
    )
    await using t = await createTestEngine({ tasks: [failing] })
    const retryAt = new Date(t.clock.now() + 100)
    await (await t.engine.trigger(failing, null)).outcome()
    expect(told).toEqual([
      [null, 1, 'no', false, { retryDelayInMs: 100, retryAt }],
      [null, 2, 'no', false, {}],
    ])
  })

  it('that is still thinking when the run is canceled changes nothing any more', async () => {
    const gate = createDeferred<RetryDecision>()
    const failing = bodyTask(
      () => {
        throw new Error('no')
      },
      { catchError: () => gate.promise },
    )
    await using t = await createTestEngine({ tasks: [failing], clock: { ioGraceMs: 10 } })
    const run = await t.engine.trigger(failing, null)
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(run.id)
    gate.resolve({ retryDelayInMs: 0 })
    await t.clock.advance('1m')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'CANCELED', attemptCount: 1 })
  })
})

describe('hooks', () => {
  it('are called in order: onStart before the first attempt only, onSuccess before the run is completed', async () => {
    const order: unknown[] = []
    const hooked = bodyTask(
      ({ ctx }) => {
        order.push(`run ${ctx.attempt.number}`)
        if (ctx.attempt.number === 1) throw new Error('again')
        return 'done'
      },
      {
        retry: { maxAttempts: 2, minTimeoutInMs: 0 },
        onStart: ({ payload, ctx }) => void order.push(['onStart', payload, ctx.attempt.number]),
        onSuccess: async ({ output, ctx }) => {
          order.push(['onSuccess', output, (await t.engine.runs.retrieve(ctx.run.id)).status])
        },
        onFailure: () => void order.push('onFailure'),
      },
    )
    await using t = await createTestEngine({ tasks: [hooked] })
    await (await t.engine.trigger(hooked, null)).result()
    expect(order).toEqual([['onStart', null, 1], 'run 1', 'run 2', ['onSuccess', 'done', 'EXECUTING']])
  })

  it('onFailure is called once, after the last attempt, before the run has failed', async () => {
    const told: unknown[] = []
    const failing = bodyTask(
      ({ ctx }) => {
        throw new Error(`failure ${ctx.attempt.number}`)
      },
      {
        retry: { maxAttempts: 2, minTimeoutInMs: 0 },
        onFailure: async ({ error, ctx }) => {
          told.push([(error as Error).message, (await t.engine.runs.retrieve(ctx.run.id)).status])
        },
      },
    )
    await using t = await createTestEngine({ tasks: [failing] })
    await (await t.engine.trigger(failing, null)).outcome()
    expect(told).toEqual([['failure 2', 'EXECUTING']])
  })

  it('onSuccess and onFailure that throw are error events, and change nothing', async () => {
    const throwing = (): never => {
      throw new Error('hook')
    }
    const fine = bodyTask(() => 'fine', { id: 'fine', onSuccess: throwing })
    const rejecting = bodyTask(() => 'fine', {
      id: 'rejecting',
      onSuccess: () => Promise.reject(new Error('hook')),
    })
    const failing = bodyTask(() => Promise.reject(new Error('run')), { id: 'failing', onFailure: throwing })
    await using t = await createTestEngine({ tasks: [fine, rejecting, failing] })
    const errors = errorsOf(t)
    const runs = [
      await t.engine.trigger(fine, null),
      await t.engine.trigger(rejecting, null),
      await t.engine.trigger(failing, null),
    ]
    const outcomes = await Promise.all(runs.map((run) => run.outcome()))
    expect(outcomes).toMatchObject([
      { ok: true, output: 'fine' },
      { ok: true, output: 'fine' },
      { ok: false, error: { cause: { message: 'run' } } },
    ])
    expect(errors.map(({ error, runId }) => [(error as Error).message, runId]).sort()).toEqual(
      runs.map(({ id }) => ['hook', id]).sort(),
    )
  })

  it('onStart that throws fails the attempt, as in the SDK of the service', async () => {
    let calls = 0
    const failing = bodyTask(() => (calls += 1), {
      retry: { maxAttempts: 2, minTimeoutInMs: 0 },
      onStart: () => Promise.reject(new Error('not today')),
    })
    await using t = await createTestEngine({ tasks: [failing] })
    expect(await (await t.engine.trigger(failing, null)).result()).toBe(1)
  })

  it('run in the run: they may use its engine', async () => {
    const hooked = bodyTask(() => 'done', {
      onStart: () => t.engine.metadata.set('started', true),
      onSuccess: async () => {
        await Promise.resolve()
        t.engine.metadata.set('succeeded', true)
      },
    })
    await using t = await createTestEngine({ tasks: [hooked] })
    const run = await t.engine.trigger(hooked, null)
    expect(await run.result()).toBe('done')
    expect((await t.engine.runs.retrieve(run.id)).metadata).toEqual({ started: true, succeeded: true })
  })

  it('give up the slot: a slow onSuccess keeps no other run waiting', async () => {
    const order: string[] = []
    const slow = task({
      id: 'slow',
      run: (name: string) => void order.push(name),
      onSuccess: async ({ payload }) => {
        await t.clock.sleep('1h')
        order.push(`${payload} succeeded`)
      },
    })
    await using t = await createTestEngine({ tasks: [slow], concurrency: 1 })
    const runs = [await t.engine.trigger(slow, 'a'), await t.engine.trigger(slow, 'b')]
    await Promise.all(runs.map((run) => run.result()))
    expect(order).toEqual(['a', 'b', 'a succeeded', 'b succeeded'])
  })

  it('do not shift the waits of the run, which are found again after an interruption without onStart', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const started: string[] = []
    const asked: string[] = []
    const hooked = bodyTask(
      async ({ wait }) => {
        asked.push((await wait.createToken({ timeout: '1d' })).id)
        await clock.sleep('1m')
      },
      {
        onStart: async () => void started.push((await wait.createToken({ timeout: '1d' })).id),
      },
    )
    const first = await createTestEngine({
      tasks: [hooked],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'first',
    })
    const run = await first.engine.trigger(hooked, null)
    await clock.settle()
    ports.abandon()
    await using second = await createTestEngine({ tasks: [hooked], storage, clock, seed: 'second' })
    await clock.advance('2m')
    expect((await second.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
    expect(started).toHaveLength(1)
    expect(asked).toHaveLength(2)
    expect(new Set(asked).size).toBe(1)
    expect(asked).not.toContain(started[0])
  })

  it('do not let the function start any more once the run was canceled', async () => {
    const gate = createDeferred<void>()
    let calls = 0
    const hooked = bodyTask(() => (calls += 1), { onStart: () => gate.promise })
    await using t = await createTestEngine({ tasks: [hooked], clock: { ioGraceMs: 10 } })
    const run = await t.engine.trigger(hooked, null)
    await t.clock.settle().catch(() => undefined)
    await t.engine.runs.cancel(run.id)
    gate.resolve()
    await t.clock.settle()
    expect(calls).toBe(0)
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })
})

function unreadable(): never {
  throw new Error('not for you')
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function circle(): unknown {
  const start: { self?: unknown } = {}
  start.self = start
  return start
}
