import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { numbers } from '../../support/streams.ts'

const START = Date.UTC(2000, 0, 1)
const manual = { clock: { mode: 'manual' } } as const

/** The timers that a run or a caller waits for. */
function foreground(clock: TestClock): readonly { readonly at: number; readonly label: string }[] {
  return clock.pending().filter(({ background }) => !background)
}

/** When each token of a timeout was seen to be timed out by an event. */
function timeOutsOf(t: TestEngine): Map<string, number> {
  const seen = new Map<string, number>()
  t.engine.on('token', ({ id, status }) => {
    if (status !== 'TIMED_OUT') return
    expect(seen.has(id)).toBe(false)
    seen.set(id, t.clock.now() - START)
  })
  return seen
}

describe('deadlines', () => {
  it('are all met at their instant, whatever the order they were made in', async () => {
    await using t = await createTestEngine(manual)
    const seen = timeOutsOf(t)
    const timeouts = [50, 10, 30, 10, 40, 20, 1, 50, 35]
    const expected = new Map<string, number>()
    for (const timeout of timeouts) expected.set((await t.engine.wait.createToken({ timeout })).id, timeout)
    await t.clock.advance(25)
    for (const timeout of [5, 1])
      expected.set((await t.engine.wait.createToken({ timeout })).id, 25 + timeout)
    await t.clock.advance(100)
    expect(new Map([...seen].sort())).toEqual(new Map([...expected].sort()))
  })

  it('need one timer for all of them', async () => {
    // Without a fixture, which would show the deadlines a timer stands for.
    const clock = testClock(manual.clock)
    await using engine = createEngine({ clock, storage: projectStorage() })
    const minutes = numbers(1_001, 1).reverse()
    await Promise.all(minutes.map((minute) => engine.wait.createToken({ timeout: `${minute}m` })))
    await clock.settle()
    const timers = foreground(clock)
    expect(timers).toHaveLength(1)
    expect(timers[0]).toMatchObject({ at: START + 60_000 })
    expect(timers[0]!.label).toMatch(/^deadline of token waitpoint_/)
  })

  it('that are settled before leave nothing to wait for', async () => {
    await using t = await createTestEngine(manual)
    const tokens = [
      await t.engine.wait.createToken({ timeout: '1m' }),
      await t.engine.wait.createToken({ timeout: '2m' }),
    ]
    await t.engine.wait.completeToken(tokens[0]!)
    await t.clock.settle()
    expect(foreground(t.clock).map(({ at }) => at)).toEqual([START + 120_000])
    await t.engine.wait.completeToken(tokens[1]!)
    await t.clock.settle()
    expect(foreground(t.clock)).toEqual([])
  })

  it('that are settled before cost a storage on other machines no tick each', async () => {
    const clock = testClock(manual.clock)
    const { storage, calls } = steeredStorage({ ...memoryStorage(), time: () => clock.now() })
    // Such a clock can be set to the time of the storage.
    await using engine = createEngine({ clock: { ...clock, adjust: () => undefined }, storage })
    await engine.ready()
    const ticks = (): number => calls.filter((name) => name === 'tick').length
    const before = ticks()
    for (const timeout of numbers(20, 1)) {
      const token = await engine.wait.createToken({ timeout: timeout * 60_000 })
      await engine.wait.completeToken(token)
      await clock.settle()
    }
    expect(ticks()).toBe(before)
    const last = await engine.wait.createToken({ timeout: '1h' })
    await clock.advance('2s')
    expect(ticks()).toBe(before + 1)
    expect(foreground(clock).map(({ at }) => at)).toEqual([START + 3_600_000])
    await clock.advance('1h')
    expect(await engine.wait.retrieveToken(last)).toMatchObject({ status: 'TIMED_OUT' })
  })

  it('by the thousand at one instant are all met', async () => {
    await using t = await createTestEngine(manual)
    const seen = timeOutsOf(t)
    await Promise.all(numbers(2_500).map(() => t.engine.wait.createToken({ timeout: '1m' })))
    await t.clock.advance('1m')
    expect(seen.size).toBe(2_500)
  })

  it('are met late by a machine that was asleep, with the instant they were for', async () => {
    const seen: unknown[] = []
    const only = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1m' })
      seen.push((await wait.forToken(token)).ok, (await wait.retrieveToken(token)).completedAt)
    })
    await using t = await createTestEngine({ tasks: [only], ...manual })
    const run = await t.engine.trigger(only, null)
    await t.clock.settle()
    await t.clock.jump('20s')
    await t.clock.jump('29s')
    await t.clock.jump('25s')
    await run.result()
    expect(seen).toEqual([false, new Date(START + 60_000)])
  })

  it('made while storage answers a tick are not forgotten', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({ storage: steered.storage, ...manual })
    const seen = timeOutsOf(t)
    const first = await t.engine.wait.createToken({ timeout: '1m' })
    const release = steered.holdAnswer('tick')
    await t.engine.wait.completeToken(first)
    // The tick that looks for what is due next finds nothing; its answer is on the way.
    while (!steered.calls.slice(-1).includes('tick')) await new Promise((resolve) => setImmediate(resolve))
    const token = await t.engine.wait.createToken({ timeout: 5_000 })
    release()
    await t.clock.advance(5_000)
    expect([...seen]).toEqual([[token.id, 5_000]])
  })

  it('are met after a storage that failed answers again, and the failure is told', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({ storage: steered.storage, ...manual })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const seen = timeOutsOf(t)
    const { id } = await t.engine.wait.createToken({ timeout: 5_000 })
    const failure = steered.fail('tick', 2)
    await t.clock.advance(5_000)
    expect([seen.size, errors.length]).toEqual([0, 1])
    await t.clock.advance(2_000)
    expect([...seen]).toEqual([[id, 7_000]])
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatchObject({ message: failure.message })
    expect(await t.engine.wait.retrieveToken(id)).toMatchObject({ completedAt: new Date(START + 5_000) })
  })

  it('of others are met: a token whose engine is gone times out for the run that waits for it', async () => {
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const ports = abandonable(clock, storage)
    const other = await createTestEngine({ clock: ports.clock, storage: ports.storage, seed: 'other' })
    const only = bodyTask(async ({ wait }) => (await wait.forToken(token)).ok)
    await using t = await createTestEngine({ tasks: [only], clock, storage })
    const token = await other.engine.wait.createToken({ timeout: '1m' })
    const run = await t.engine.trigger(only, null)
    await clock.settle()
    ports.abandon()
    await clock.advance('1m')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: false })
  })

  it('end with the engine: nothing is scheduled after close()', async () => {
    await using clock = testClock({ mode: 'manual' })
    const t = await createTestEngine({ clock })
    await t.engine.wait.createToken({ timeout: '1m' })
    expect(clock.pending().length).toBeGreaterThan(0)
    await t.close()
    expect(clock.pending()).toEqual([])
  })
})

describe('two engines on one storage', () => {
  it('tell each other: a token completed at one releases the run at the other', async () => {
    const storage = projectStorage()
    await using clock = testClock({ mode: 'manual' })
    const only = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '1h' })
      return wait.forToken<string>(token).unwrap()
    })
    await using worker = await createTestEngine({ tasks: [only], clock, storage, seed: 1 })
    await using web = await createTestEngine({ clock, storage, seed: 2 })
    const runs = await Promise.all([1, 2, 3].map(() => worker.engine.trigger(only, null)))
    await clock.settle()
    const answers = await Promise.all(
      (await web.engine.wait.listTokens()).data.map(({ id }) => web.engine.wait.completeToken(id, 'answer')),
    )
    expect(answers).toHaveLength(3)
    await clock.settle()
    for (const { id } of runs) {
      expect(await web.engine.runs.retrieve(id)).toMatchObject({ status: 'COMPLETED', output: 'answer' })
    }
    expect(worker.engine.stats().waits).toBe(0)
    expect(clock.now()).toBe(START)
  })
})
