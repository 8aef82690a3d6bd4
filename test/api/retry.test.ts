import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine, task, type RetryOptions } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { retryDelayMs } from '../../src/api/retry.ts'
import { storageOfThisProcess } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

const never = (): number => 0

describe('retryDelayMs', () => {
  it('grows by the factor up to the maximum, and ends after the last attempt', () => {
    const policy = {
      maxAttempts: 5,
      factor: 10,
      minTimeoutInMs: 100,
      maxTimeoutInMs: 50_000,
      randomize: false,
    }
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelayMs(policy, attempt, never))
    expect(delays).toEqual([100, 1_000, 10_000, 50_000, undefined, undefined])
  })

  it('has the defaults of the service it describes', () => {
    expect([1, 2, 3].map((attempt) => retryDelayMs({}, attempt, never))).toEqual([1_000, 2_000, undefined])
    expect(retryDelayMs({ maxAttempts: 100 }, 50, never)).toBe(60_000)
    expect(retryDelayMs({ maxAttempts: 9_999, minTimeoutInMs: 0 }, 9_998, never)).toBe(0)
  })

  it('spreads a delay over up to twice its length, never beyond the maximum', () => {
    const retry = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 1_000 }),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      minTimeoutInMs: fc.integer({ min: 0, max: 100_000 }),
      maxTimeoutInMs: fc.integer({ min: 0, max: 1_000_000 }),
    })
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(retry, fc.integer({ min: 1, max: 999 }), fraction, (policy, attempt, spread) => {
        const least = retryDelayMs({ ...policy, randomize: false }, attempt, never)
        const actual = retryDelayMs(policy, attempt, () => spread)
        if (attempt >= policy.maxAttempts) {
          expect(actual).toBeUndefined()
          return
        }
        expect(Number.isInteger(actual)).toBe(true)
        expect(actual).toBeGreaterThanOrEqual(least!)
        expect(actual).toBeLessThanOrEqual(Math.min(policy.maxTimeoutInMs, 2 * least! + 1))
      }),
    )
  })
})

describe('a task with retry', () => {
  const policy: RetryOptions = { maxAttempts: 3, factor: 2, minTimeoutInMs: 1_000, randomize: false }

  it('is called again after each delay, DELAYED in between, until it succeeds', async () => {
    const calledAt: number[] = []
    const flaky = bodyTask(
      ({ ctx }) => {
        calledAt.push(t.clock.now())
        if (ctx.attempt.number < 3) throw new Error(`failure ${ctx.attempt.number}`)
        return ctx.attempt
      },
      { retry: policy },
    )
    await using t = await createTestEngine({ tasks: [flaky], clock: { mode: 'manual' } })
    const start = t.clock.now()
    const run = await t.engine.trigger(flaky, null)
    await t.clock.settle()
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({
      status: 'DELAYED',
      delayedUntil: new Date(start + 1_000),
      attemptCount: 1,
      error: { message: 'failure 1' },
    })
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
    await t.clock.advance(999)
    expect(calledAt).toHaveLength(1)
    expect(await t.clock.until(run.result())).toEqual({
      number: 3,
      policyNumber: 3,
      startedAt: new Date(start + 3_000).toISOString(),
    })
    expect(calledAt).toEqual([start, start + 1_000, start + 3_000])
    const done = await t.engine.runs.retrieve(run.id)
    expect(done).toMatchObject({ status: 'COMPLETED', attemptCount: 3 })
    expect(done).not.toHaveProperty('error')
    expect(done).not.toHaveProperty('delayedUntil')
  })

  it('refuses a delay that no date can hold, when it is defined', () => {
    for (const name of ['minTimeoutInMs', 'maxTimeoutInMs'])
      expect(() => bodyTask(() => 1, { retry: { [name]: 1e20 } })).toThrow(
        new RangeError(
          `Cannot use retry.${name} 100000000000000000000 of task "body": no date is that far ahead`,
        ),
      )
  })

  it('is put off to the last date there is, at most', async () => {
    const LAST = 8.64e15
    const failing = bodyTask(() => Promise.reject(new Error('no')), {
      retry: { minTimeoutInMs: LAST, maxTimeoutInMs: LAST },
    })
    await using t = await createTestEngine({ tasks: [failing], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(failing, null)
    await t.clock.settle()
    const delayed = { status: 'DELAYED', delayedUntil: new Date(LAST) }
    expect(await t.engine.runs.retrieve(run)).toMatchObject(delayed)
    await t.engine.runs.cancel(run)
  })

  it.each([{ retryDelayInMs: 1e20 }, { retryAt: new Date(NaN) }, { retryDelayInMs: Infinity }])(
    'fails when catchError answers an instant that is no date: %j',
    async (answer) => {
      const failing = bodyTask(() => Promise.reject(new Error('no')), { catchError: () => answer })
      await using t = await createTestEngine({ tasks: [failing] })
      const run = await t.engine.trigger(failing, null)
      expect(await run.outcome()).toMatchObject({ ok: false, error: { cause: { name: 'RangeError' } } })
    },
  )

  it('tells that it is put off before what comes next, also when storage acknowledges it later', async () => {
    let calls = 0
    const flaky = bodyTask(
      () => {
        if ((calls += 1) === 1) throw new Error('once')
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 0 } },
    )
    const steered = steeredStorage(storageOfThisProcess())
    const engine = createEngine({ tasks: [flaky], storage: steered.storage })
    const told: string[] = []
    engine.on('run', ({ id, status }) => void told.push(`${id} ${status}`))
    const acknowledge = steered.holdAnswer('runs.update')
    const run = await engine.trigger(flaky, null)
    await until(() => steered.calls.includes('runs.update'))
    // The delay is known here once it is acknowledged: another trigger makes the engine look.
    const other = await engine.trigger(flaky, null)
    await Promise.all([run.result(), other.result()])
    acknowledge()
    await turn()
    const statuses = ['QUEUED', 'EXECUTING', 'DELAYED', 'EXECUTING', 'COMPLETED']
    expect(told.filter((line) => line.startsWith(run.id))).toEqual(
      statuses.map((status) => `${run.id} ${status}`),
    )
    await engine.close()
  })

  it('fails with its last error when the attempts are used up', async () => {
    let calls = 0
    const failing = bodyTask(
      () => {
        throw new Error(`failure ${(calls += 1)}`)
      },
      { retry: policy },
    )
    await using t = await createTestEngine({ tasks: [failing] })
    const run = await t.engine.trigger(failing, null)
    expect(await run.outcome()).toMatchObject({ ok: false, error: { cause: { message: 'failure 3' } } })
    expect(calls).toBe(3)
  })

  it('has one attempt without retry, and as many as the trigger says', async () => {
    let calls = 0
    const failing = bodyTask(() => {
      calls += 1
      throw new Error('no')
    })
    await using t = await createTestEngine({ tasks: [failing] })
    await (await t.engine.trigger(failing, null)).outcome()
    expect(calls).toBe(1)
    await (await t.engine.trigger(failing, null, { maxAttempts: 4 })).outcome()
    expect(calls).toBe(5)
  })

  it('lets a trigger take its retries away', async () => {
    let calls = 0
    const failing = bodyTask(
      () => {
        calls += 1
        throw new Error('no')
      },
      { retry: policy },
    )
    await using t = await createTestEngine({ tasks: [failing] })
    await (await t.engine.trigger(failing, null, { maxAttempts: 1 })).outcome()
    expect(calls).toBe(1)
  })

  it.each([0, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses maxAttempts %s',
    async (maxAttempts) => {
      expect(() => task({ id: 'x', retry: { maxAttempts }, run: () => undefined })).toThrow(RangeError)
      const plain = bodyTask(() => undefined)
      await using t = await createTestEngine({ tasks: [plain] })
      await expect(t.engine.trigger(plain, null, { maxAttempts })).rejects.toThrow(RangeError)
      expect((await t.engine.runs.list()).data).toEqual([])
    },
  )

  it.each([
    { factor: 0.5 },
    { factor: Number.NaN },
    { minTimeoutInMs: -1 },
    { maxTimeoutInMs: -1 },
    { maxTimeoutInMs: Number.POSITIVE_INFINITY },
  ])('refuses %j', (retry) => {
    expect(() => task({ id: 'x', retry, run: () => undefined })).toThrow(/retry\..* of task "x"/)
  })

  it('draws its jitter from the seed of the engine: the same instants every time', async () => {
    const instants = async (seed: number): Promise<number[]> => {
      const calledAt: number[] = []
      const failing = bodyTask(
        () => {
          calledAt.push(t.clock.now())
          throw new Error('no')
        },
        { retry: { maxAttempts: 4, minTimeoutInMs: 1_000 } },
      )
      await using t = await createTestEngine({ tasks: [failing], seed })
      const start = t.clock.now()
      await (await t.engine.trigger(failing, null)).outcome()
      return calledAt.map((at) => at - start)
    }
    const first = await instants(1)
    expect(await instants(1)).toEqual(first)
    expect(await instants(2)).not.toEqual(first)
    expect(first[1]).toBeGreaterThanOrEqual(1_000)
    expect(first[1]).toBeLessThan(2_000)
  })

  it('frees its slot between attempts', async () => {
    const order: string[] = []
    const flaky = task({
      id: 'flaky',
      retry: { maxAttempts: 2, minTimeoutInMs: 60_000, randomize: false },
      run: (name: string, { ctx }) => {
        order.push(`${name}${ctx.attempt.number}`)
        if (name === 'a' && ctx.attempt.number === 1) throw new Error('no')
      },
    })
    await using t = await createTestEngine({ tasks: [flaky], concurrency: 1 })
    const a = await t.engine.trigger(flaky, 'a')
    const b = await t.engine.trigger(flaky, 'b')
    await Promise.all([a.result(), b.result()])
    expect(order).toEqual(['a1', 'b1', 'a2'])
  })
})
