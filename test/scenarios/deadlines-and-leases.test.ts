import { describe, expect, it } from 'vitest'
import { createEngine, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { pausing } from '../support/crash-point.ts'
import { steeredStorage } from '../support/steered-storage.ts'

let now = (): number => 0

const nap = task({
  id: 'nap',
  run: async (seconds: number, { wait }) => {
    await wait.for({ seconds })
    return now()
  },
})

describe('the deadlines of an engine', () => {
  it('are met to the millisecond, in order, by one timer', async () => {
    // Without a fixture, which would show the deadlines a timer stands for.
    const clock = testClock({ mode: 'manual' })
    await using engine = createEngine({ tasks: [nap], clock, storage: projectStorage() })
    now = () => clock.now() - start
    const start = clock.now()
    const runs = await Promise.all([5, 1, 3, 1].map((seconds) => engine.trigger(nap, seconds)))
    await clock.settle()
    const deadlines = clock.pending().filter(({ background }) => !background)
    expect(deadlines.map(({ at }) => at - start)).toEqual([1_000])
    await clock.advance('5s')
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([5_000, 1_000, 3_000, 1_000])
  })

  it.each([1, 2, 3])('that are set while tick %i is out are met all the same', async (ticks) => {
    const steered = steeredStorage(projectStorage())
    const clock = testClock({ mode: 'manual', ioGraceMs: 5 })
    await using t = await createTestEngine({ tasks: [nap], storage: steered.storage, clock })
    now = () => clock.now()
    await clock.settle()
    for (let tick = 0; tick < ticks; tick += 1) {
      const answer = steered.holdAnswer('tick')
      // The renewal of the lease: a tick.
      await clock.advance('10s').catch(() => undefined)
      const token = await t.engine.wait.createToken({ timeout: 2_000 })
      const run = await t.engine.trigger(nap, 1)
      await clock.settle().catch(() => undefined)
      // A second one that is asked for while the first is out.
      await t.engine.wait.completeToken(token)
      answer()
      const dueAt = clock.now() + 1_000
      await clock.advance('1s')
      expect(await run.result()).toBe(dueAt)
    }
  })

  it('go on after a tick has failed', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({
      tasks: [nap],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => void errors.push(error))
    now = () => t.clock.now()
    const run = await t.engine.trigger(nap, 5)
    await t.clock.settle()
    const failure = steered.fail('tick')
    await t.clock.advance('7s')
    expect(errors).toEqual([failure])
    expect(await run.result()).toBeLessThanOrEqual(t.clock.now())
  })
})

describe('the lease of an engine', () => {
  it('is renewed every 10 s, so that no other engine takes its runs', async () => {
    const storage = projectStorage()
    const clock = testClock({ mode: 'manual' })
    let calls = 0
    const slow = bodyTask(async () => {
      calls += 1
      await clock.sleep('1h')
    })
    await using a = await createTestEngine({ tasks: [slow], storage, clock, seed: 'a' })
    await using b = await createTestEngine({ tasks: [slow], storage, clock, seed: 'b' })
    const run = await a.engine.trigger(slow, null)
    await clock.advance('1h')
    expect(calls).toBe(1)
    expect((await b.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
  })

  it('may be as short as the option says: it is renewed in time, and ends in time', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const ports = abandonable(clock, storage)
    let calls = 0
    const slow = bodyTask(async () => {
      calls += 1
      await clock.sleep('1m')
    })
    const lost = await createTestEngine({
      clock: ports.clock,
      storage: ports.storage,
      tasks: [slow],
      seed: 'lost',
      leaseMs: 3_000,
    })
    const run = await lost.engine.trigger(slow, null)
    await clock.settle()
    await using other = await createTestEngine({
      tasks: [slow],
      storage,
      clock,
      seed: 'other',
      leaseMs: 3_000,
    })
    await clock.advance('30s')
    expect(calls).toBe(1)
    ports.abandon()
    await clock.advance('3s')
    expect(calls).toBe(2)
    await clock.advance('1m')
    expect((await other.engine.runs.retrieve(run.id)).status).toBe('COMPLETED')
  })

  it('of an engine that is alone outlives a suspended machine', async () => {
    const clock = testClock({ mode: 'manual' })
    const slow = bodyTask(async ({ ctx, wait }) => {
      await clock.sleep('5m')
      await wait.for({ minutes: 5 })
      return ctx.attempt
    })
    await using t = await createTestEngine({ tasks: [slow], storage: projectStorage(), clock })
    const run = await t.engine.trigger(slow, null)
    await clock.settle()
    await clock.jump('2m')
    await clock.advance('3m')
    await clock.jump('2m')
    await clock.advance('3m')
    expect(await run.result()).toMatchObject({ number: 1, policyNumber: 1 })
  })

  it.each([1, 2, 3])(
    'and of another one: both are suspended for %i minutes, and every run comes to one end',
    async (minutes) => {
      const clock = testClock({ mode: 'manual' })
      const storage = projectStorage()
      const ends = new Map<string, number>()
      const reasons: unknown[] = []
      const slow = bodyTask(async ({ signal, ctx, wait }) => {
        signal.addEventListener('abort', () => void reasons.push(signal.reason))
        await clock.sleep('50s', { signal })
        await wait.for({ seconds: 10 })
        return ctx.run.id
      })
      await using a = await createTestEngine({ tasks: [slow], storage, clock, seed: 'a', concurrency: 2 })
      await using b = await createTestEngine({ tasks: [slow], storage, clock, seed: 'b', concurrency: 2 })
      for (const { engine } of [a, b]) {
        engine.on('run', ({ id, isCompleted }) => {
          if (isCompleted) ends.set(id, (ends.get(id) ?? 0) + 1)
        })
      }
      const runs = await Promise.all([a, b, a, b].map(({ engine }) => engine.trigger(slow, null)))
      await clock.advance('30s')
      await clock.jump(minutes * 60_000)
      await clock.advance('5m')
      expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map(({ id }) => id))
      expect([...ends.values()]).toEqual([1, 1, 1, 1])
      for (const reason of reasons) expect(reason).toMatchObject({ code: 'ERR_STALE_ATTEMPT' })
      for (const { engine } of [a, b])
        expect(engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
    },
  )

  it('is lost by a process that stands still for too long, and won by the other', async () => {
    // It stands still in its claim, which is a call of its own then.
    const storage = { ...projectStorage(), claimsNew: false }
    const clock = testClock({ mode: 'manual' })
    const slow = (name: string): ReturnType<typeof bodyTask<string>> =>
      bodyTask(async () => {
        await clock.sleep('40s')
        return name
      })
    const ports = pausing(clock, storage, 8)
    const old = await createTestEngine({
      tasks: [slow('old')],
      clock: ports.clock,
      storage: ports.storage,
      seed: 'old',
    })
    const run = await old.engine.trigger(slow('old'), null)
    await clock.advance('20s')
    expect(ports.isPaused).toBe(true)
    await using t = await createTestEngine({ tasks: [slow('new')], storage, clock, seed: 'new' })
    await clock.advance('1m')
    ports.resume()
    await clock.advance('1m')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'new' })
    await old.close()
  })
})
