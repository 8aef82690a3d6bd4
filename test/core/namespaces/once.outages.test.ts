import { describe, expect, it } from 'vitest'
import { createEngine, once, type RunTools, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable, projectStorage, steadyStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { until } from '../../support/turn.ts'

/** Runs `body` as a task that may try three times. */
async function retried<Output>(
  body: (tools: RunTools) => Output | Promise<Output>,
  storage = projectStorage(),
): Promise<Output> {
  const only = bodyTask(body, { retry: { maxAttempts: 3 } })
  await using t = await createTestEngine({ tasks: [only], storage })
  return await (await t.engine.trigger(only, null)).result()
}

describe('once', () => {
  it('runs its effect in the first attempt; a later one gets the stored result', async () => {
    let calls = 0
    const results: unknown[] = []
    await retried(async ({ ctx }) => {
      results.push(await once('mail', () => ({ sent: (calls += 1) })))
      if (ctx.attempt.number < 3) throw new Error('again')
    })
    expect(results).toEqual([{ sent: 1 }, { sent: 1 }, { sent: 1 }])
    expect(calls).toBe(1)
  })

  it('does not repeat an effect whose result is not JSON: it has happened, and is an error from then on', async () => {
    let charges = 0
    const codes: unknown[] = []
    const failed = retried(async () => {
      const charged = once('charge', () => {
        charges += 1
        const response: { status: number; request?: unknown } = { status: 200 }
        response.request = { response }
        return response
      })
      await charged.catch((error: unknown) => {
        codes.push((error as { code?: unknown }).code)
        throw new Error('again')
      })
    })
    await expect(failed).rejects.toThrow('again')
    expect([charges, codes]).toEqual([1, Array.from({ length: 3 }, () => 'ERR_NOT_SERIALIZABLE')])
  })

  it('is joined by the next attempt while its effect is under way', async () => {
    let mails = 0
    const sent = createDeferred<undefined>()
    const output = await retried(async ({ ctx }) => {
      if (ctx.attempt.number === 2) sent.resolve(undefined)
      const mail = once('mail', async () => {
        mails += 1
        await sent.promise
        return `mail ${mails}`
      })
      if (ctx.attempt.number === 1) throw new Error('something else failed')
      return mail
    }, steadyStorage())
    expect([output, mails]).toEqual(['mail 1', 1])
  })

  it('hands on to the next attempt its result, and not why it got none', async () => {
    const steered = steeredStorage(steadyStorage())
    const insert = steered.holdCall('tokens.insert')
    let effects = 0
    const only = bodyTask(
      async ({ ctx }) => {
        const mail = once('mail', () => (effects += 1))
        if (ctx.attempt.number === 1) throw new Error('something else failed')
        insert()
        return mail
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 1 } },
    )
    // A test clock would not come to the second attempt while a call is out.
    await using engine = createEngine({ tasks: [only], storage: steered.storage })
    const run = await engine.trigger(only, null)
    const output = await run.result()
    expect([output, effects]).toEqual([1, 1])
  })

  it('stores its result again when storage has failed, and does not repeat the effect', async () => {
    const steered = steeredStorage(projectStorage())
    steered.fail('tokens.settle')
    let mails = 0
    const invite = bodyTask(() => once('mail', () => void (mails += 1)), { retry: { maxAttempts: 3 } })
    await using t = await createTestEngine({ tasks: [invite], storage: steered.storage })
    const run = await t.engine.trigger(invite, null)
    await run.result()
    expect(mails).toBe(1)
  })

  it('runs it again after it threw: only results are stored', async () => {
    let calls = 0
    const output = await retried(() =>
      once('flaky', async () => {
        calls += 1
        if (calls < 3) throw new Error(`failure ${calls}`)
        return calls
      }),
    )
    expect([output, calls]).toEqual([3, 3])
  })

  it.each([[undefined], [null], [0], [''], [{ list: [1] }]])(
    'gives back the result %j as it is',
    async (result) => {
      const seen: unknown[] = []
      await retried(async ({ ctx }) => {
        seen.push(await once('effect', () => (ctx.attempt.number === 1 ? result : 'another')))
        if (ctx.attempt.number === 1) throw new Error('again')
      })
      expect(seen).toEqual([result, result])
    },
  )

  it('gives a copy of the result in the first attempt already, as a later one would get', async () => {
    const made = { when: new Date(0), nested: { list: [1] } }
    let seen: unknown
    await retried(async () => {
      seen = await once('effect', () => made)
    })
    expect(seen).toEqual({ when: '1970-01-01T00:00:00.000Z', nested: { list: [1] } })
  })

  it('runs it one time only when it is called in parallel, and in order when one after the other', async () => {
    let calls = 0
    const effect = async (): Promise<number> => (calls += 1)
    const [parallel, later] = await retried(async () => [
      await Promise.all([once('k', effect), once('k', effect), once('k', effect)]),
      await once('k', effect),
    ])
    expect(parallel).toEqual([1, 1, 1])
    expect(later).toBe(1)
  })

  it('tells all parallel callers of a failure, and lets the next call try again', async () => {
    let calls = 0
    const errors: unknown[] = []
    const output = await retried(async () => {
      const effect = (): number => {
        calls += 1
        if (calls === 1) throw new Error('first')
        return calls
      }
      errors.push(...(await Promise.all([rejection(once('k', effect)), rejection(once('k', effect))])))
      return once('k', effect)
    })
    expect(errors.map((error) => (error as Error).message)).toEqual(['first', 'first'])
    expect(output).toBe(2)
  })

  it('is per run and per key', async () => {
    let calls = 0
    const only = bodyTask(async () => [
      await once('a', () => (calls += 1)),
      await once('b', () => (calls += 1)),
    ])
    await using t = await createTestEngine({ tasks: [only] })
    const outputs = []
    for (let run = 0; run < 2; run += 1) outputs.push(await (await t.engine.trigger(only, null)).result())
    expect(outputs).toEqual([
      [1, 2],
      [3, 4],
    ])
  })

  it('may wait inside its effect', async () => {
    const output = await retried(({ wait }) =>
      once('approval', async () => {
        const token = await wait.createToken({ timeout: '1h' })
        return (await wait.forToken(token)).ok
      }),
    )
    expect(output).toBe(false)
  })

  it('refuses a result that is not JSON, with its path', async () => {
    let thrown: unknown
    await retried(async () => {
      thrown = await rejection(once('big', () => ({ items: [1n] })))
    })
    expect(thrown).toMatchObject({
      code: 'ERR_NOT_SERIALIZABLE',
      message: 'Cannot store the result of once "big": $.items[0] is not JSON: a bigint',
    })
  })

  it('refuses an empty key, and a call outside of a run', async () => {
    let thrown: unknown
    await retried(async () => {
      thrown = await rejection(once('', () => 1))
    })
    expect(thrown).toBeInstanceOf(TypeError)
    await using t = await createTestEngine()
    using _default = { [Symbol.dispose]: t.engine.makeDefault() }
    let calls = 0
    expect(await rejection(once('k', () => (calls += 1)))).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    expect(calls).toBe(0)
  })

  it('does not run its effect again after the process died', async () => {
    let calls = 0
    const results: unknown[] = []
    const stuck: (() => void)[] = []
    const only = bodyTask(async ({ ctx }) => {
      results.push(await once('mail', () => (calls += 1)))
      if (ctx.attempt.number === 1) await new Promise<void>((resolve) => stuck.push(resolve))
    })
    const storage = steadyStorage()
    await using clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ tasks: [only], clock: ports.clock, storage: ports.storage })
    await first.engine.trigger(only, null)
    await until(() => stuck.length > 0)
    ports.abandon()
    await using second = await createTestEngine({ tasks: [only], clock, storage, seed: 2 })
    await clock.advance('31s')
    expect([calls, results]).toEqual([1, [1, 1]])
    expect(second.engine.stats().attempts).toBe(0)
  })

  it('runs it again when the process died between effect and record: at least once', async () => {
    let calls = 0
    const only = bodyTask(() =>
      once('mail', () => {
        calls += 1
        if (calls === 1) ports.abandon()
        return calls
      }),
    )
    const storage = steadyStorage()
    await using clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ tasks: [only], clock: ports.clock, storage: ports.storage })
    const run = await first.engine.trigger(only, null)
    await until(() => calls > 0)
    await using second = await createTestEngine({ tasks: [only], clock, storage, seed: 2 })
    await clock.advance('31s')
    expect(await second.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 2 })
  })

  it('rejects in an attempt that has ended, without running its effect', async () => {
    let calls = 0
    let late: Promise<unknown> = Promise.resolve()
    const only = bodyTask(({ signal }) => {
      late = new Promise((resolve) => signal.addEventListener('abort', resolve)).then(() =>
        rejection(once('k', () => (calls += 1))),
      )
      return late.then(() => undefined)
    })
    await using t = await createTestEngine({ tasks: [only] })
    const run = await t.engine.trigger(only, null)
    await until(() => t.engine.stats().executing > 0)
    await t.engine.runs.cancel(run.id)
    expect(await late).toMatchObject({ code: 'ERR_RUN_CANCELED' })
    expect(calls).toBe(0)
  })

  it('begins anew in the next attempt when its effect waits, because waits end with their attempt', async () => {
    const asked = new Map<number, string>()
    const only = bodyTask(
      async ({ ctx }) => {
        const approved = once('approval', async () => {
          const token = await wait.createToken({ timeout: '7d' })
          asked.set(ctx.attempt.policyNumber, token.id)
          return wait.forToken<string>(token).unwrap()
        })
        if (ctx.attempt.policyNumber === 1) throw new Error('again')
        return approved
      },
      { retry: { maxAttempts: 2 } },
    )
    await using t = await createTestEngine({ tasks: [only] })
    const run = await t.engine.trigger(only, null)
    await t.clock.until(() => asked.has(2))
    await t.complete(asked.get(2)!, 'yes')
    expect(await run.result()).toBe('yes')
  })
})
