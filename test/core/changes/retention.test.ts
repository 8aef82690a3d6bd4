import { describe, expect, it } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { memoryOfProject, projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { until } from '../../support/turn.ts'

const GONE = { code: 'ERR_RUN_NOT_FOUND' }
const quick = bodyTask(() => 'done')

describe('retention', () => {
  it('forgets runs and tokens in memory an hour after they ended', async () => {
    const storage = memoryOfProject()
    await using t = await createTestEngine({
      tasks: [quick],
      storage,
      retention: {},
      clock: { mode: 'manual' },
    })
    const run = await t.engine.trigger(quick, null)
    const token = await t.engine.wait.createToken()
    await t.engine.wait.completeToken(token)
    await t.clock.advance('59m')
    expect((await t.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
    await t.clock.advance('10m')
    await expect(t.engine.runs.retrieve(run.id)).rejects.toMatchObject(GONE)
    expect(await run.outcome()).toMatchObject({ ok: false, id: run.id, error: GONE })
    await expect(t.engine.wait.retrieveToken(token)).rejects.toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
  })

  it('forgets them after maxAge, counted from their end', async () => {
    const slow = bodyTask(({ wait }) => wait.for({ hours: 20 }), { id: 'slow' })
    await using t = await createTestEngine({
      tasks: [quick, slow],
      retention: { maxAge: '1d' },
      clock: { mode: 'manual' },
    })
    const early = await t.engine.trigger(quick, null)
    const late = await t.engine.trigger(slow, null)
    await t.clock.advance('26h')
    await expect(t.engine.runs.retrieve(early.id)).rejects.toMatchObject(GONE)
    expect((await t.engine.runs.retrieve(late.id)).status).toBe('COMPLETED')
    await t.clock.advance('20h')
    await expect(t.engine.runs.retrieve(late.id)).rejects.toMatchObject(GONE)
  })

  it('keeps at most maxCount of them, the youngest', async () => {
    await using t = await createTestEngine({
      tasks: [quick],
      retention: { maxCount: 3 },
      clock: { mode: 'manual' },
    })
    const ids: string[] = []
    for (let n = 0; n < 6; n += 1) {
      ids.unshift((await t.engine.trigger(quick, null)).id)
      await t.clock.advance('1s')
    }
    await t.clock.advance('10m')
    expect((await t.engine.runs.list()).data.map(({ id }) => id)).toEqual(ids.slice(0, 3))
  })

  it('keeps no more than maxBytes of them, the youngest, as soon as there is more', async () => {
    const large = bodyTask(() => 'x'.repeat(10_000), { id: 'large' })
    const streaming = bodyTask(({ streams }) => streams.append('log', 'x'.repeat(10_000)), {
      id: 'streaming',
    })
    await using t = await createTestEngine({
      tasks: [large, streaming],
      storage: memoryOfProject(),
      retention: { maxBytes: 60_000 },
      clock: { mode: 'manual' },
    })
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) {
      for (const one of [large, streaming]) ids.unshift((await t.engine.trigger(one, null)).id)
      await t.clock.settle()
    }
    await t.clock.advance(1)
    const kept = (await t.engine.runs.list()).data.map(({ id }) => id)
    expect(kept.length).toBeGreaterThanOrEqual(3)
    expect(kept).toEqual(ids.slice(0, kept.length))
    expect(kept.length).toBeLessThanOrEqual(6)
  })

  it('drops no more at a time than the storage says, until nothing is left to drop', async () => {
    const storage = memoryOfProject()
    const limits: number[] = []
    const slow: typeof storage = {
      ...storage,
      pruneLimit: 5,
      prune(request) {
        limits.push(request.limit)
        return storage.prune(request)
      },
    }
    await using t = await createTestEngine({
      tasks: [quick],
      storage: slow,
      retention: { maxCount: 1 },
      clock: { mode: 'manual' },
    })
    for (let n = 0; n < 21; n += 1) await t.engine.trigger(quick, null)
    await t.clock.advance('10m')
    expect((await t.engine.runs.list()).data).toHaveLength(1)
    expect(limits.length).toBeGreaterThanOrEqual(5)
    expect(new Set(limits)).toEqual(new Set([5]))
  })

  it('keeps up with many ends without waiting for its time', async () => {
    await using t = await createTestEngine({ tasks: [quick], retention: { maxCount: 10 } })
    for (let batch = 0; batch < 3; batch += 1) {
      const runs = await Promise.all(Array.from({ length: 1_000 }, () => t.engine.trigger(quick, null)))
      await Promise.all(runs.map((run) => run.outcome().catch(() => undefined)))
    }
    await t.clock.settle()
    let kept = 0
    for await (const run of t.engine.runs.list({ limit: 100 })) kept += run.id === '' ? 0 : 1
    expect(kept).toBeLessThanOrEqual(1_010)
  })

  it('looks again after so many ends while it was looking', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [quick],
      storage: steered.storage,
      retention: { maxCount: 10 },
    })
    const thousand = async (): Promise<void> => {
      const runs = await Promise.all(Array.from({ length: 1_000 }, () => t.engine.trigger(quick, null)))
      await Promise.all(runs.map((run) => run.outcome()))
    }
    const answer = steered.holdAnswer('prune')
    await thousand()
    await until(() => steered.calls.includes('prune'))
    await thousand()
    answer()
    await until(() => steered.calls.filter((name) => name === 'prune').length > 1)
  })

  it('never touches what a live run can still see: its tokens, effects and children', async () => {
    const child = task({ id: 'child', run: (n: number) => n })
    const patient = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '30d' })
      await wait.completeToken(token, 'kept')
      const one = await child.triggerAndWait(1)
      await wait.for({ days: 3 })
      const again = await wait.forToken<string>(token).unwrap()
      return [again, one.ok && (await t.engine.runs.retrieve(one.id)).status]
    })
    await using t = await createTestEngine({
      tasks: [patient, child],
      retention: { maxAge: '1m', maxCount: 0 },
      clock: { mode: 'manual' },
    })
    const run = await t.engine.trigger(patient, null)
    await t.clock.advance('2d')
    const seen = run.result()
    await t.clock.advance('1d')
    expect(await seen).toEqual(['kept', 'COMPLETED'])
    await t.clock.advance('10m')
    expect(await rejection(t.engine.runs.retrieve(run.id))).toMatchObject(GONE)
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it('keeps an answer for the run that it was given for, which comes later', async () => {
    const late = bodyTask(({ wait }) => wait.forToken<string>(token).unwrap(), { id: 'late' })
    await using t = await createTestEngine({
      tasks: [late, quick],
      retention: { maxAge: '1h', maxCount: 0 },
      clock: { mode: 'manual' },
    })
    const token = await t.engine.wait.createToken({ timeout: '30d' })
    await t.engine.wait.completeToken(token, 'approved')
    const result = (await t.engine.trigger(late, null, { delay: '2h' })).result()
    await t.engine.trigger(quick, null)
    await t.clock.advance('3h')
    expect(await result).toBe('approved')
  })

  it('keeps a run as long as its idempotency key is valid', async () => {
    await using t = await createTestEngine({
      tasks: [quick],
      retention: { maxAge: '1m' },
      clock: { mode: 'manual' },
    })
    const key = { idempotencyKey: 'k', idempotencyKeyTTL: '1d' }
    const run = await t.engine.trigger(quick, null, key)
    await t.clock.advance('23h')
    expect(await t.engine.trigger(quick, null, key)).toMatchObject({ id: run.id, isCached: true })
    await t.clock.advance('1h')
    const other = await t.engine.trigger(quick, null, key)
    expect(other.isCached).toBe(false)
    await t.clock.advance('1h')
    await expect(t.engine.runs.retrieve(run.id)).rejects.toMatchObject(GONE)
  })

  it('forgets what has a deadline or a key of its own soon after that, though nothing else has ended for long', async () => {
    await using t = await createTestEngine({
      tasks: [quick],
      retention: { maxAge: '1h' },
      clock: { mode: 'manual' },
    })
    const token = await t.engine.wait.createToken({ timeout: '8d' })
    await t.engine.wait.completeToken(token, 'approved')
    const key = { idempotencyKey: 'k', idempotencyKeyTTL: '8d' }
    const run = await t.engine.trigger(quick, null, key)
    await t.clock.advance('191h')
    expect((await t.engine.wait.retrieveToken(token)).output).toBe('approved')
    expect((await t.engine.runs.retrieve(run)).status).toBe('COMPLETED')
    // An eighth of the eight days.
    await t.clock.advance('26h')
    await expect(t.engine.wait.retrieveToken(token)).rejects.toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
    await expect(t.engine.runs.retrieve(run)).rejects.toMatchObject(GONE)
    const late = await t.engine.trigger(quick, null)
    await t.clock.advance('69m')
    await expect(t.engine.runs.retrieve(late)).rejects.toMatchObject(GONE)
  })

  it('goes on when a batch has failed', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [quick],
      storage: steered.storage,
      retention: { maxAge: '1m' },
      clock: { mode: 'manual' },
    })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => void errors.push(error))
    const failure = steered.fail('prune')
    const run = await t.engine.trigger(quick, null)
    await t.clock.advance('10m')
    expect(errors).toEqual([failure])
    await expect(t.engine.runs.retrieve(run.id)).rejects.toMatchObject(GONE)
  })

  it.each([
    { maxAge: -1 },
    { maxAge: 'long' },
    { maxCount: -1 },
    { maxCount: 1.5 },
    { maxCount: Number.NaN },
    { maxBytes: -1 },
  ])('refuses %j', (retention) => {
    expect(() => createEngine({ retention })).toThrow(RangeError)
  })
})
