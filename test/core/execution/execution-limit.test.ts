import { describe, expect, it } from 'vitest'
import { type EngineErrorEvent, task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask, rejection } from '../../support/body-task.ts'

const MINUTE_MS = 60_000

describe('maxDuration', () => {
  it('ends a run that executes for longer, at that instant, without another attempt', async () => {
    let calls = 0
    const reasons: unknown[] = []
    const endless = bodyTask(
      async ({ signal }) => {
        calls += 1
        signal.addEventListener('abort', () => void reasons.push(signal.reason))
        await t.clock.sleep('10m')
      },
      { maxDuration: 60, retry: { maxAttempts: 5 } },
    )
    await using t = await createTestEngine({ tasks: [endless], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(endless, null)
    await t.clock.advance(MINUTE_MS - 1)
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('EXECUTING')
    await t.clock.advance(1)
    const ended = await t.engine.runs.retrieve(run.id)
    expect(ended).toMatchObject({ status: 'TIMED_OUT', isFailed: true, error: { code: 'ERR_RUN_TIMED_OUT' } })
    expect(ended.finishedAt).toEqual(new Date(t.clock.now()))
    await expect(run.result()).rejects.toMatchObject({ code: 'ERR_RUN_TIMED_OUT', runId: run.id })
    expect(reasons).toMatchObject([{ code: 'ERR_RUN_TIMED_OUT' }])
    await t.clock.advance('50m')
    expect(calls).toBe(1)
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('TIMED_OUT')
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })

  it('does not count the time of waits', async () => {
    const patient = bodyTask(
      async ({ wait }) => {
        await t.clock.sleep('30s')
        await wait.for({ hours: 5 })
        await t.clock.sleep('29s')
        await wait.for({ hours: 5 })
        return 'in time'
      },
      { maxDuration: '1m' },
    )
    await using t = await createTestEngine({ tasks: [patient] })
    expect(await (await t.engine.trigger(patient, null)).result()).toBe('in time')
  })

  it('adds up what is executed before, between and after waits', async () => {
    const slow = bodyTask(
      async ({ wait }) => {
        for (let part = 0; part < 4; part += 1) {
          await t.clock.sleep('20s')
          await wait.for({ hours: 1 })
        }
      },
      { maxDuration: '1m' },
    )
    await using t = await createTestEngine({ tasks: [slow] })
    const start = t.clock.now()
    const run = await t.engine.trigger(slow, null)
    await expect(run.result()).rejects.toMatchObject({ code: 'ERR_RUN_TIMED_OUT' })
    expect((await t.engine.runs.retrieve(run.id)).finishedAt).toEqual(
      new Date(start + 2 * 3_600_000 + MINUTE_MS),
    )
  })

  it('does not count the time a run waits for a slot', async () => {
    const quick = bodyTask(
      async ({ wait }) => {
        await wait.for({ seconds: 1 })
        await t.clock.sleep('50s')
      },
      { maxDuration: '1m' },
    )
    const busy = bodyTask(() => t.clock.sleep('1h'), { id: 'busy' })
    await using t = await createTestEngine({ tasks: [quick, busy], concurrency: 1 })
    const run = await t.engine.trigger(quick, null)
    await t.engine.trigger(busy, null)
    expect(await run.outcome()).toMatchObject({ ok: true })
  })

  it('starts anew with every attempt', async () => {
    const flaky = bodyTask(
      async ({ ctx }) => {
        await t.clock.sleep('50s')
        if (ctx.attempt.number < 3) throw new Error('again')
      },
      { maxDuration: '1m', retry: { maxAttempts: 3 } },
    )
    await using t = await createTestEngine({ tasks: [flaky] })
    expect(await (await t.engine.trigger(flaky, null)).outcome()).toMatchObject({ ok: true })
  })

  it('can be given by the trigger', async () => {
    const slow = bodyTask(() => t.clock.sleep('5m'), { maxDuration: '1m' })
    await using t = await createTestEngine({ tasks: [slow] })
    expect(await (await t.engine.trigger(slow, null, { maxDuration: '10m' })).outcome()).toMatchObject({
      ok: true,
    })
    expect(await (await t.engine.trigger(slow, null, { maxDuration: 1 })).outcome()).toMatchObject({
      ok: false,
    })
    await t.clock.advance('5m')
  })

  it('is no concern of streams that are drained, nor of onSuccess', async () => {
    const streaming = bodyTask(
      async ({ metadata }) => {
        await metadata.stream('draft', ticks())
        return 'returned'
      },
      { maxDuration: '1s', onSuccess: () => t.clock.sleep('10s') },
    )
    async function* ticks(): AsyncGenerator<number> {
      for (let n = 0; n < 3; n += 1) {
        await t.clock.sleep('5s')
        yield n
      }
    }
    await using t = await createTestEngine({ tasks: [streaming] })
    expect(await (await t.engine.trigger(streaming, null)).result()).toBe('returned')
  })

  it('makes the calls of a function that goes on reject', async () => {
    let late: unknown
    const stubborn = bodyTask(
      async ({ wait }) => {
        await t.clock.sleep('5s')
        late = await rejection(wait.createToken())
        throw new Error('this is not heard')
      },
      { maxDuration: '1s' },
    )
    await using t = await createTestEngine({ tasks: [stubborn], clock: { mode: 'manual' } })
    const errors: EngineErrorEvent[] = []
    t.engine.on('error', (event) => void errors.push(event))
    const run = await t.engine.trigger(stubborn, null)
    await t.clock.advance('10s')
    expect(late).toMatchObject({ code: 'ERR_RUN_TIMED_OUT' })
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'TIMED_OUT', attemptCount: 1 })
    expect(errors).toEqual([])
  })

  it('loses against a return that came first, at the very same instant', async () => {
    const exact = task({ id: 'exact', maxDuration: '1m', run: (ms: number) => t.clock.sleep(ms) })
    await using t = await createTestEngine({ tasks: [exact] })
    const runs = [await t.engine.trigger(exact, 59_999), await t.engine.trigger(exact, 60_001)]
    expect(await Promise.all(runs.map(async (run) => (await run.outcome()).ok))).toEqual([true, false])
    const close = await t.engine.trigger(exact, 60_000)
    const { ok } = await close.outcome()
    expect((await t.engine.runs.retrieve(close.id)).status).toBe(ok ? 'COMPLETED' : 'TIMED_OUT')
    await t.clock.advance('1m')
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
  })
})
