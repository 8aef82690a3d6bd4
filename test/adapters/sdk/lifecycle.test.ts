import { describe, expect, it } from 'vitest'
import {
  batch,
  idempotencyKeys,
  locals,
  metadata,
  otel,
  queue,
  runs,
  schemaTask,
  task,
  tasks,
  wait,
  waitUntil,
  type AnyTask,
} from 'waitpoint/sdk'
import { z } from 'zod'
import { createEngine } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { turn } from '../../support/turn.ts'

async function engineOf(...all: readonly AnyTask[]): Promise<TestEngine> {
  const t = await createTestEngine({ tasks: all })
  t.engine.makeDefault()
  return t
}

describe('onCancel', () => {
  it('is called with the promise of the run, and middleware ends', async () => {
    const told: string[] = []
    const long = task({
      id: 'long',
      middleware: async ({ next }) => {
        await next()
        told.push('middleware ends')
      },
      run: async () => {
        const { id } = await wait.createToken()
        // Left behind: when it rejects, no promise that the task awaits does.
        void wait.forToken(id).unwrap()
        await wait.for({ days: 1 })
      },
      onCancel: async ({ runPromise, task: id }) => {
        const reason = await runPromise.then(
          () => 'fine',
          (error: unknown) => (error instanceof Error ? error.name : ''),
        )
        told.push(`${id}: ${reason}`)
      },
      onFailure: () => void told.push('onFailure'),
      cleanup: () => void told.push('cleanup'),
    })
    await using t = await engineOf(long)
    const { id } = await long.trigger()
    for await (const run of runs.subscribeToRun(id)) if (run.isWaiting) break
    await runs.cancel(id)
    expect(await runs.poll(id)).toMatchObject({ status: 'CANCELED' })
    await t.clock.settle()
    expect(told.toSorted()).toEqual(['long: RunCanceledError', 'middleware ends'])
  })

  it('may use the engine, and waits for nothing', async () => {
    const told: unknown[] = []
    const refund = task({ id: 'refund', run: async ({ at }: { at: Date }) => at.getTime() })
    const order = task({
      id: 'order',
      run: async () => {
        metadata.set('paid', 5)
        await wait.for({ days: 1 })
      },
      onCancel: async ({ ctx }) => {
        const { id } = await refund.trigger({ at: new Date(7) })
        metadata.increment('paid', -5)
        told.push((await runs.poll(id)).output, (await runs.retrieve(ctx.run.id)).status)
        await wait.for({ hours: 1 }).catch((error: unknown) => told.push(error))
      },
    })
    await using t = await engineOf(order, refund)
    const { id } = await order.trigger()
    for await (const run of runs.subscribeToRun(id)) if (run.isWaiting) break
    await runs.cancel(id)
    await t.clock.settle()
    expect(told).toEqual([7, 'CANCELED', expect.objectContaining({ code: 'ERR_RUN_CANCELED' })])
    expect((await runs.retrieve(id)).metadata).toEqual({ paid: 0 })
  })
})

describe('an attempt', () => {
  it('ends its run with an error that is an AbortTaskRunError by its name', async () => {
    class OurAbort extends Error {
      override readonly name = 'AbortTaskRunError'
    }
    const seen: unknown[] = []
    const aborting = task({
      id: 'aborting',
      retry: { maxAttempts: 3 },
      run: async () => {
        throw new OurAbort('enough')
      },
      onFailure: ({ error }) => void seen.push(error),
    })
    await using _t = await engineOf(aborting)
    const { id } = await aborting.trigger()
    expect(await runs.poll(id)).toMatchObject({ attemptCount: 1, error: { message: 'enough' } })
    expect(seen).toEqual([expect.any(OurAbort)])
  })

  it('follows a refusal of the service that says when it is no more, by its own delay', async () => {
    const early = task({
      id: 'early',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (_payload: undefined, { ctx }) => {
        if (ctx.attempt.number > 1) return 'allowed'
        const tooMany = { name: 'TriggerApiError', status: 429, millisecondsUntilReset: 3_600_000 }
        throw Object.assign(new Error('too many'), tooMany)
      },
    })
    await using t = await engineOf(early)
    const startedAt = t.clock.now()
    expect(await runs.poll(await early.trigger(undefined))).toMatchObject({ output: 'allowed' })
    expect(t.clock.now() - startedAt).toBe(3_600_000)
  })

  it('fails by the policy of the run when middleware throws, without the hooks of the function', async () => {
    const told: string[] = []
    const guarded = task({
      id: 'guarded',
      retry: { maxAttempts: 2, minTimeoutInMs: 1, randomize: false },
      middleware: async () => {
        told.push('middleware')
        throw new Error('not today')
      },
      catchError: () => void told.push('catchError'),
      onFailure: () => void told.push('onFailure'),
      run: async () => void told.push('run'),
    })
    await using _t = await engineOf(guarded)
    const { id } = await guarded.trigger()
    expect(await runs.poll(id)).toMatchObject({ status: 'FAILED', error: { message: 'not today' } })
    expect(told).toEqual(['middleware', 'middleware'])
  })

  it('does not end before a promise that it was told of', async () => {
    const told: string[] = []
    const patient = task({
      id: 'patient',
      cleanup: () => void told.push('cleanup'),
      onSuccess: () => void told.push('onSuccess'),
      run: async () => {
        const late = wait.for({ hours: 1 }).then(() => told.push('late'))
        waitUntil(late)
      },
    })
    await using t = await engineOf(patient)
    const startedAt = t.clock.now()
    const { id } = await patient.trigger()
    expect(await runs.poll(id)).toMatchObject({ status: 'COMPLETED' })
    expect(told).toEqual(['onSuccess', 'cleanup', 'late'])
    expect(t.clock.now() - startedAt).toBe(3_600_000)
  })

  it('calls a function that it is to wait for at its end, and takes any other value', async () => {
    const told: string[] = []
    const patient = task({
      id: 'patient',
      cleanup: () => void told.push('cleanup'),
      run: async () => {
        waitUntil(1 as never)
        waitUntil(undefined as never)
        waitUntil(async (limit) => told.push(`called with ${limit}`))
        waitUntil(async () => Promise.reject(new Error('it is late')))
      },
    })
    await using _t = await engineOf(patient)
    expect(await runs.poll(await patient.trigger())).toMatchObject({ status: 'COMPLETED' })
    expect(told).toEqual(['cleanup', 'called with 60000'])
  })

  it('takes a promise to wait for that rejects before its end', async () => {
    const background = task({
      id: 'background',
      run: async () => {
        waitUntil(Promise.reject(new Error('not sent')))
        for (let turns = 0; turns < 10; turns += 1) await turn()
        return 'done'
      },
    })
    await using _t = await engineOf(background)
    expect(await runs.poll(await background.trigger())).toMatchObject({ output: 'done' })
  })

  it('is not failed by a hook that throws after the function has returned', async () => {
    const fine = task({
      id: 'fine',
      onSuccess: () => {
        throw new Error('a hook')
      },
      onComplete: () => {
        throw new Error('another')
      },
      run: async () => 'fine',
    })
    await using _t = await engineOf(fine)
    const { id } = await fine.trigger()
    expect((await runs.poll(id)).output).toBe('fine')
  })

  it('is failed by onStart', async () => {
    const told: string[] = []
    const blocked = task({
      id: 'blocked',
      onStart: () => {
        throw new Error('closed')
      },
      catchError: () => void told.push('catchError'),
      run: async () => void told.push('run'),
    })
    await using _t = await engineOf(blocked)
    const { id } = await blocked.trigger()
    expect(await runs.poll(id)).toMatchObject({ error: { message: 'closed' } })
    expect(told).toEqual(['catchError'])
  })

  it('has locals of its own', async () => {
    const counter = locals.create<number>('counter')
    const counting = task({
      id: 'counting',
      run: async () => locals.set(counter, (locals.get(counter) ?? 0) + 1),
    })
    await using _t = await engineOf(counting)
    const both = await Promise.all([counting.trigger(), counting.trigger()])
    for (const { id } of both) expect((await runs.poll(id)).output).toBe(1)
    expect(locals.get(counter)).toBeUndefined()
    expect(() => locals.set(counter, 1)).toThrow('call it inside a task')
  })

  it('has locals of its own in an engine that a task with hooks has made', async () => {
    const counter = locals.create<number>('counter')
    const inner = task({ id: 'inner', run: async () => locals.get(counter) ?? 'none' })
    const outer = task({
      id: 'outer',
      onStart: () => void locals.set(counter, 1),
      run: async () => {
        await using other = createEngine({ tasks: [inner] })
        const run = await other.trigger(inner, undefined)
        return await run.result()
      },
    })
    await using t = await engineOf(outer)
    expect(await (await t.engine.trigger(outer, undefined)).result()).toBe('none')
  })

  it('that was interrupted calls its hooks again, and its waits keep their answers', async () => {
    const told: string[] = []
    const twice = task({
      id: 'twice',
      onStart: () => void told.push('onStart'),
      onWait: ({ wait: on }) => void told.push(`onWait ${on.type}`),
      run: async () => {
        await wait.for({ minutes: 1 })
        await Promise.all([wait.for({ minutes: 2 }), wait.for({ minutes: 3 })])
        return told.filter((entry) => entry === 'onStart').length
      },
    })
    await using t = await createTestEngine({ tasks: [twice], alwaysResume: true })
    t.engine.makeDefault()
    const startedAt = t.clock.now()
    const { id } = await twice.trigger()
    expect((await runs.poll(id)).output).toBeGreaterThan(1)
    expect(t.clock.now() - startedAt).toBe(4 * 60_000)
  })
})

describe('idempotency keys', () => {
  it('belong to the run, to the attempt, or to all', async () => {
    const keys = task({
      id: 'keys',
      run: async () => [
        await idempotencyKeys.create('a'),
        await idempotencyKeys.create(['a'], { scope: 'run' }),
        await idempotencyKeys.create('a', { scope: 'attempt' }),
        await idempotencyKeys.create('a', { scope: 'global' }),
      ],
    })
    await using _t = await engineOf(keys)
    const handles = await Promise.all([keys.trigger(), keys.trigger()])
    const [one = [], two = []] = await Promise.all(
      handles.map(async ({ id }) => (await runs.poll(id)).output as readonly string[]),
    )
    expect(new Set(one).size).toBe(3)
    expect(one[0]).toBe(one[1])
    expect(one.map((key, index) => key === two[index])).toEqual([false, false, false, true])
    expect(await idempotencyKeys.create('a')).toBe(one[3])
  })

  it.each([undefined, null, '', []])('are none with %j', async (idempotencyKey) => {
    const any = task({ id: 'any', run: async () => 1 })
    await using _t = await engineOf(any)
    // `null` is none of the types, and comes from untyped code.
    const options = { idempotencyKey: idempotencyKey as string }
    const { id } = await any.trigger(undefined, options)
    expect((await any.trigger(undefined, options)).id).not.toBe(id)
    const { batchId } = await any.batchTrigger([{ payload: undefined }], options)
    expect((await any.batchTrigger([{ payload: undefined }], options)).batchId).not.toBe(batchId)
  })

  it('of a run live for 30 days, unless the trigger says otherwise', async () => {
    const child = task({ id: 'child', run: async () => null })
    const parent = task({
      id: 'parent',
      run: async ({ days, ttl }: { days: number; ttl?: string }) => {
        const options = { idempotencyKey: 'a', ...(ttl !== undefined && { idempotencyKeyTTL: ttl }) }
        const first = await child.trigger(undefined, options)
        await wait.for({ days })
        const again = await child.trigger(undefined, options)
        return first.id === again.id
      },
    })
    await using t = await createTestEngine({ tasks: [child, parent], retention: { maxAge: '90d' } })
    t.engine.makeDefault()
    const found = async (payload: { days: number; ttl?: string }): Promise<unknown> =>
      (await runs.poll(await parent.trigger(payload))).output
    expect(await found({ days: 30 - 1 / 86_400 })).toBe(true)
    expect(await found({ days: 30 })).toBe(false)
    expect(await found({ days: 1, ttl: '2d' })).toBe(true)
    expect(await found({ days: 2, ttl: '2d' })).toBe(false)
  })

  it('of the items of a batch live as long as the batch says, unless the item does', async () => {
    const child = task({ id: 'child', run: async () => null })
    await using t = await createTestEngine({ tasks: [child], retention: { maxAge: '90d' } })
    t.engine.makeDefault()
    const keys = ['a', 'b'].map((key) => ({ idempotencyKey: key }))
    const [own, longer] = [keys[0]!, { ...keys[1]!, idempotencyKeyTTL: '3d' }]
    const batch = [own, longer].map((options) => ({ payload: undefined, options }))
    await child.batchTrigger(batch, { idempotencyKeyTTL: '1d' })
    await t.clock.advance('2d')
    const { isCached } = await child.trigger(undefined, own)
    expect([isCached, (await child.trigger(undefined, longer)).isCached]).toEqual([false, true])
  })

  it('are free again when the run has failed', async () => {
    let calls = 0
    const flaky = task({
      id: 'flaky',
      run: async () => {
        calls += 1
        if (calls < 3) throw new Error(`call ${calls}`)
        return calls
      },
    })
    await using _t = await engineOf(flaky)
    const ends: unknown[] = []
    for (let time = 0; time < 4; time += 1) {
      const { id } = await flaky.trigger(undefined, { idempotencyKey: 'a' })
      ends.push((await runs.poll(id)).status)
    }
    expect(ends).toEqual(['FAILED', 'FAILED', 'COMPLETED', 'COMPLETED'])
    expect(calls).toBe(3)
  })

  it('of a batch are those of its items with their numbers', async () => {
    const echo = task({ id: 'echo', run: async (payload: { n: number }) => payload.n })
    await using _t = await engineOf(echo)
    const items = [{ payload: { n: 1 } }, { payload: { n: 2 } }]
    const first = await tasks.batchTrigger<typeof echo>('echo', items, { idempotencyKey: 'batch' })
    const again = await tasks.batchTrigger<typeof echo>('echo', items, { idempotencyKey: ['batch'] })
    expect(again.batchId).toBe(first.batchId)
    const { data } = await runs.list()
    expect(data).toHaveLength(2)
    await Promise.all(data.map(async ({ id }) => runs.poll(id)))
  })
})

describe('a payload that the schema refuses', () => {
  let executed = 0
  const strict = schemaTask({
    id: 'strict',
    schema: z.object({ n: z.coerce.number().max(9) }),
    retry: { maxAttempts: 3 },
    run: async ({ n }) => {
      executed += 1
      return n + 1
    },
  })
  const bad = { n: 10 }
  const items = [{ payload: { n: 1 } }, { payload: bad }]

  it('is refused where the task itself is triggered', async () => {
    await using _t = await engineOf(strict)
    for (const refused of [strict.trigger(bad), strict.batchTrigger(items)])
      await expect(refused).rejects.toMatchObject({ code: 'ERR_PAYLOAD_INVALID' })
    expect((await runs.list()).data).toEqual([])
  })

  it('fails the run where it is triggered by its id, at once', async () => {
    executed = 0
    await using _t = await engineOf(strict)
    const { id } = await tasks.trigger<typeof strict>('strict', bad)
    expect(await runs.poll(id)).toMatchObject({
      status: 'FAILED',
      attemptCount: 1,
      error: { message: expect.stringContaining('payload: n:') as string },
    })
    expect(executed).toBe(0)
    const good = await tasks.trigger<typeof strict>('strict', { n: '4' })
    expect((await runs.poll(good.id)).output).toBe(5)
    for (const { batchId } of [
      await tasks.batchTrigger<typeof strict>('strict', items),
      await batch.triggerByTask([
        { task: strict, payload: { n: 1 } },
        { task: strict, payload: bad },
      ]),
    ]) {
      const { runs: ids } = await batch.retrieve(batchId)
      const ended = await Promise.all(ids.map(async (run) => (await runs.poll(run)).status))
      expect(ended).toEqual(['COMPLETED', 'FAILED'])
    }
  })

  it('fails a child that is triggered by its id, and is refused where the child itself is triggered there', async () => {
    const parent = task({
      id: 'parent',
      run: async () => {
        const one = await tasks.triggerAndWait<typeof strict>('strict', bad)
        const { runs: several } = await tasks.batchTriggerAndWait<typeof strict>('strict', items)
        const mixed = await batch.triggerAndWait([
          { id: 'strict', payload: bad },
          { id: 'other', payload: bad },
        ])
        const refused = await strict.triggerAndWait(bad).catch((error: unknown) => String(error))
        return [one.ok, ...[...several, ...mixed.runs].map(({ ok }) => ok), refused]
      },
    })
    const other = task({ id: 'other', run: async () => (await strict.trigger({ n: 1 })).id })
    await using _t = await engineOf(parent, strict, other)
    const { id } = await parent.trigger()
    expect((await runs.poll(id)).output).toEqual([
      ...[false, true, false, false, true],
      expect.stringContaining('Cannot trigger task "strict"'),
    ])
  })
})

describe('the context', () => {
  it('tells when the attempt has begun, its limit, and whether the run is a replay', async () => {
    const seen: unknown[] = []
    const twice = task({
      id: 'twice',
      maxDuration: 60,
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
      run: async (_: void, { ctx: { run, attempt } }) => {
        const { isReplay, isTest, maxDuration } = run
        const laterMs = attempt.startedAt.getTime() - run.startedAt.getTime()
        seen.push({ number: attempt.number, laterMs, isReplay, isTest, maxDuration })
        if (attempt.number === 1) throw new Error('once more')
      },
      catchError: async ({ retryAt, retryDelayInMs }) => void seen.push(retryAt, retryDelayInMs),
    })
    await using t = await engineOf(twice)
    const again = new Date(t.clock.now() + 1_000)
    const { id } = await twice.trigger(undefined, { maxDuration: 5 })
    await runs.poll(id)
    const first = { number: 1, laterMs: 0, isReplay: false, isTest: false, maxDuration: 5 }
    expect(seen.splice(0)).toEqual([first, again, 1_000, { ...first, number: 2, laterMs: 1_000 }])
    await runs.poll((await runs.replay(id)).id)
    expect(seen[0]).toEqual({ ...first, isReplay: true })
    await runs.poll(await twice.trigger())
    expect(seen.at(-1)).toMatchObject({ isReplay: false, maxDuration: 60 })
  })
})

describe('wait.for', () => {
  it('of several periods takes the first: seconds, minutes, hours …', async () => {
    const ends: number[] = []
    const nap = task({
      id: 'nap',
      onWait: ({ wait: told }) => {
        if (told.type === 'duration') ends.push(told.date.getTime())
      },
      run: async () => {
        await wait.for({ days: 1, minutes: 3 })
        await wait.for({ seconds: undefined as never, hours: 2, years: 1 })
      },
    })
    await using t = await engineOf(nap)
    const startedAt = t.clock.now()
    await runs.poll(await nap.trigger())
    expect(t.clock.now() - startedAt).toBe(3 * 60_000 + 2 * 3_600_000)
    expect(ends).toHaveLength(2)
  })
})

describe('otel.metrics', () => {
  it('has meters whose instruments take numbers and record nothing', () => {
    const { metrics } = otel
    const meter = metrics.getMeter('orders', '1.0.0')
    meter.createCounter('count', { unit: '1' }).add(1, { shop: 'a' })
    meter.createUpDownCounter('open').add(-1)
    meter.createHistogram('took').record(12)
    meter.createGauge('level').record(0.5)
    const observed = [
      meter.createObservableCounter('a'),
      meter.createObservableUpDownCounter('b'),
      meter.createObservableGauge('c'),
    ]
    for (const one of observed) one.addCallback((result) => result.observe(1))
    meter.addBatchObservableCallback((result) => result.observe(observed[0], 1), observed)
    expect(metrics.getMeterProvider().getMeter('orders')).toBe(meter)
    expect(metrics.setGlobalMeterProvider({})).toBe(false)
  })
})

describe('options of trigger', () => {
  it('are told by the context', async () => {
    const shared = queue({ name: 'shared' })
    const told = task({
      id: 'told',
      retry: { maxAttempts: 4 },
      run: async (_: number, { ctx }) => [ctx.queue.name, ctx.run.maxAttempts, ctx.run.idempotencyKey],
    })
    const elsewhere = task({ id: 'elsewhere', queue: shared, run: async () => undefined })
    await using t = await createTestEngine({ tasks: [told, elsewhere] })
    t.engine.makeDefault()
    const idempotencyKey = await idempotencyKeys.create('k')
    const handles = [
      await told.trigger(1),
      await told.trigger(1, { queue: 'shared', maxAttempts: 2, idempotencyKey }),
    ]
    const [plain, given] = await Promise.all(handles.map(async (handle) => (await runs.poll(handle)).output))
    expect(plain).toEqual(['task/told', 4, undefined])
    expect(given).toEqual(['shared', 2, idempotencyKey])
  })

  const echo = task({ id: 'echo', run: async (payload: { n: number }) => payload.n })

  it('that would change what happens are refused', async () => {
    await using _t = await engineOf(echo)
    const concurrency = 'a'
    await expect(echo.trigger({ n: 1 }, { concurrency })).rejects.toMatchObject({ code: 'ERR_HOSTED_ONLY' })
    await expect(echo.trigger({ n: 1 }, { tag: 'a' } as object)).rejects.toThrow('no option "tag"')
    await expect(echo.triggerAndWait({ n: 1 }, { concurrency })).rejects.toMatchObject({
      code: 'ERR_HOSTED_ONLY',
    })
  })

  it.each([
    [{ maxAttempts: '3' }, 'maxAttempts'],
    [{ maxAttempts: null }, 'maxAttempts'],
    [{ priority: '5' }, 'priority'],
    [{ priority: true }, 'priority'],
  ])('of another type are refused: %o', async (options, name) => {
    await using _t = await engineOf(echo)
    await expect(echo.trigger({ n: 1 }, options as object)).rejects.toThrow(name)
  })

  it('of runs that have another type are refused', async () => {
    await using _t = await engineOf(echo)
    const { id } = await echo.trigger({ n: 1 })
    expect(() => runs.list({ isTest: 'yes' } as object)).toThrow('isTest')
    expect(() => runs.subscribeToRun(id, { stopOnCompletion: 'yes' } as object)).toThrow('stopOnCompletion')
    await expect(runs.replay(id, null as never)).rejects.toThrow('the options of runs.replay')
  })

  it('debounce makes one run, and is refused where it cannot be kept', async () => {
    await using t = await engineOf(echo)
    const debounce = { key: 'a', delay: '1h', mode: 'trailing' } as const
    const first = await echo.trigger({ n: 1 }, { debounce })
    const again = await echo.trigger({ n: 2 }, { debounce })
    expect([again.id, again.isCached]).toEqual([first.id, false])
    await t.clock.advance('1h')
    expect((await runs.poll(first.id)).output).toBe(2)
    await expect(echo.trigger({ n: 1 }, { debounce, idempotencyKey: 'k' })).rejects.toThrow(
      'Cannot use debounce with an idempotencyKey',
    )
  })

  it('debounce lets parents wait for one run, by every form of waiting for children', async () => {
    const debounce = { key: 'a', delay: '5s', mode: 'trailing' } as const
    const parent = task({
      id: 'parent',
      run: async ({ n }: { n: number }) => {
        const item = { payload: { n }, options: { debounce } }
        const results = await Promise.all([
          echo.triggerAndWait({ n }, { debounce }),
          tasks.triggerAndWait<typeof echo>('echo', { n }, { debounce }),
          echo.batchTriggerAndWait([item, item]).then(({ runs: [, last] }) => last),
          tasks.batchTriggerAndWait<typeof echo>('echo', [item]).then(({ runs: [first] }) => first),
          batch.triggerAndWait<typeof echo>([{ id: 'echo', ...item }]).then(({ runs: [first] }) => first),
          batch.triggerByTaskAndWait([{ task: echo, ...item }]).then(({ runs: [first] }) => first),
        ])
        return results.map((result) => (result?.ok === true ? [result.id, result.output] : result))
      },
    })
    await using t = await engineOf(echo, parent)
    const child = await echo.trigger({ n: 1 }, { debounce })
    const first = await parent.trigger({ n: 2 })
    const second = await parent.trigger({ n: 3 })
    await t.clock.advance('1m')
    const all = Array.from({ length: 6 }, () => [child.id, 3])
    expect((await runs.poll(first.id)).output).toEqual(all)
    expect((await runs.poll(second.id)).output).toEqual(all)
    expect((await runs.list({ taskIdentifier: 'echo' })).data).toHaveLength(1)
  })
})
