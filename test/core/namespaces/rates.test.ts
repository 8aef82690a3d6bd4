import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage, task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { steadyStorage } from '../../support/abandon.ts'
import { rejection } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'

const RATE = { limit: 2, per: '1m' } as const

/** Two engines on one storage and one clock, whose task `mail` says when each of its attempts starts. */
async function twoEngines(queue: { rate?: { limit: number; per: string }; concurrencyLimit?: number } = {}) {
  const starts: { readonly name: string; readonly at: number }[] = []
  const failing = new Set<string>()
  const mail = task({
    id: 'mail',
    queue: { name: 'mail', ...queue },
    retry: { maxAttempts: 2, minTimeoutInMs: 1_000, factor: 1, randomize: false },
    run: async (name: string) => {
      starts.push({ name, at: t.clock.now() - begunAt })
      if (failing.delete(name)) throw new Error('once more')
    },
  })
  const storage = steadyStorage()
  const t = await createTestEngine({ tasks: [mail], storage, clock: { mode: 'manual' } })
  const other = await createTestEngine({ tasks: [mail], storage, clock: t.clock })
  const begunAt = t.clock.now()
  return {
    ...{ t, mail, storage, failing, starts, clock: t.clock, engine: t.engine, other: other.engine },
    /** When each attempt has started, in milliseconds. */
    instants: () => starts.map(({ at }) => at),
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]()
      await t[Symbol.asyncDispose]()
    },
  }
}

describe('the rate of a queue', () => {
  it('bounds the runs that start in any period, over all engines, and starts the next ones in time', async () => {
    await using two = await twoEngines({ rate: RATE })
    const { engine, other, mail, clock, instants } = two
    await engine.trigger(mail, '1')
    await clock.advance('40s')
    for (const name of ['2', '3', '4']) await other.trigger(mail, name)
    for (const name of ['5', '6']) await engine.trigger(mail, name)
    await clock.advance('10m')
    expect(instants()).toEqual([0, 40_000, 60_000, 100_000, 120_000, 160_000])
  })

  it('counts for each concurrency key on its own', async () => {
    await using two = await twoEngines({ rate: { limit: 1, per: '1m' } })
    const { engine, mail, clock, starts } = two
    for (const concurrencyKey of ['a', 'a', 'b'])
      await engine.trigger(mail, concurrencyKey, { concurrencyKey })
    await clock.advance('5m')
    expect(starts).toEqual([
      { name: 'a', at: 0 },
      { name: 'b', at: 0 },
      { name: 'a', at: 60_000 },
    ])
  })

  it('counts retries, and not runs that go on after a wait', async () => {
    await using two = await twoEngines({ rate: RATE })
    const { engine, mail, clock, failing, starts } = two
    failing.add('1')
    for (const name of ['1', '2']) await engine.trigger(mail, name)
    await clock.advance('5m')
    expect(starts).toEqual([
      { name: '1', at: 0 },
      { name: '2', at: 0 },
      { name: '1', at: 60_000 },
    ])

    const answered: number[] = []
    const ask = task({
      id: 'ask',
      queue: { rate: { limit: 1, per: '1h' } },
      run: async (token: string) => {
        await wait.forToken(token)
        answered.push(t.clock.now())
      },
    })
    await using t = await createTestEngine({
      tasks: [ask],
      storage: steadyStorage(),
      clock: { mode: 'manual' },
    })
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    await t.engine.trigger(ask, token.id)
    await t.clock.advance('1m')
    const now = t.clock.now()
    await t.engine.wait.completeToken(token)
    await t.clock.settle()
    expect(answered).toEqual([now])
  })

  it('keeps a queue with a limit in both', async () => {
    await using two = await twoEngines({ rate: { limit: 3, per: '1m' }, concurrencyLimit: 1 })
    const { engine, mail, clock, instants } = two
    for (const name of ['1', '2', '3', '4']) await engine.trigger(mail, name)
    await clock.advance('2m')
    expect(instants()).toEqual([0, 0, 0, 60_000])
  })

  it('lets time pass to the next start while a result is awaited', async () => {
    const nap = task({ id: 'nap', queue: { rate: { limit: 1, per: '1h' } }, run: async (_: null) => 'done' })
    await using t = await createTestEngine({ tasks: [nap] })
    const began = t.clock.now()
    await t.engine.trigger(nap, null)
    const run = await t.engine.trigger(nap, null)
    expect(await run.result()).toBe('done')
    expect(t.clock.now() - began).toBe(3_600_000)
  })

  it('holds over a restart', async () => {
    await using two = await twoEngines({ rate: { limit: 1, per: '1h' } })
    const { engine, other, mail, clock, storage, instants } = two
    await engine.trigger(mail, '1')
    await clock.settle()
    await engine.trigger(mail, '2')
    await clock.settle()
    await engine.close()
    await other.close()
    await using next = await createTestEngine({ tasks: [mail], storage, clock })
    await next.engine.ready()
    await clock.advance('59m')
    expect(instants()).toEqual([0])
    await clock.advance('1m')
    expect(instants()).toEqual([0, 3_600_000])
  })

  it('can be set and reset while engines run', async () => {
    await using two = await twoEngines({ rate: RATE })
    const { engine, other, mail, clock, instants } = two
    const set = await other.queue('mail').setRate({ limit: 1, per: '1h' })
    expect(set).toMatchObject({
      rate: { limit: 1, perMs: 3_600_000 },
      declaredRate: { limit: 2, perMs: 60_000 },
      ratedAt: new Date(clock.now()),
    })
    for (const name of ['1', '2', '3', '4', '5', '6']) await engine.trigger(mail, name)
    await clock.advance('59m')
    expect(instants()).toEqual([0])
    await clock.advance('1m')
    expect(instants()).toEqual([0, 3_600_000])
    const reset = await other.queue('mail').resetRate()
    expect(reset).toMatchObject({ rate: { limit: 2, perMs: 60_000 } })
    expect(reset).not.toHaveProperty('ratedAt')
    await clock.settle()
    expect(instants()).toEqual([0, 3_600_000, 3_600_000])
    await clock.advance('1m')
    expect(instants()).toHaveLength(5)
    await engine.queue('mail').setRate({ limit: 1, per: '1h' })
    await engine.queue('mail').setRate({ limit: 500, per: '1s' })
    await clock.settle()
    expect(instants()).toHaveLength(6)
  })

  it('starts what it held back when its own engine raises or resets it, as the only one', async () => {
    const starts: string[] = []
    const mail = task({
      id: 'mail',
      queue: { name: 'mail', rate: { limit: 2, per: '1h' } },
      run: async (name: string) => void starts.push(name),
    })
    const clock = { mode: 'manual' } as const
    await using t = await createTestEngine({ tasks: [mail], storage: steadyStorage(), clock })
    const queue = t.engine.queue('mail')
    await queue.setRate({ limit: 1, per: '1h' })
    for (const name of ['1', '2', '3']) await t.engine.trigger(mail, name)
    await t.clock.settle()
    expect(starts).toEqual(['1'])
    await queue.resetRate()
    await t.clock.settle()
    expect(starts).toEqual(['1', '2'])
    await queue.setRate({ limit: 3, per: '1h' })
    await t.clock.settle()
    expect(starts).toEqual(['1', '2', '3'])
  })

  it('starts what it held back although the lease of the engine was lost meanwhile', async () => {
    const starts: string[] = []
    const mail = task({
      id: 'mail',
      queue: { name: 'mail', rate: { limit: 1, per: '1h' } },
      run: async (name: string) => void starts.push(name),
    })
    const storage = memoryStorage()
    await using t = await createTestEngine({ tasks: [mail], storage, clock: { mode: 'manual' } })
    await using other = await createTestEngine({ tasks: [], storage, clock: t.clock })
    for (const name of ['1', '2']) await t.engine.trigger(mail, name)
    await t.clock.settle()
    // As if the processes had stood still for a minute: to a third one their leases are over.
    const now = t.clock.now() + 60_000
    await storage.tick({ owner: 'third', now, leaseUntil: now + 30_000, limit: 1 })
    await other.engine.queue('else').pause()
    await t.clock.advance('2h')
    expect(starts).toEqual(['1', '2'])
  })

  it('is told by queues and by the explanation of a run', async () => {
    await using two = await twoEngines({ rate: { limit: 1, per: '90s' } })
    const { engine, mail, clock } = two
    await engine.trigger(mail, '1')
    const run = await engine.trigger(mail, '2')
    await clock.settle()
    const nextStartAt = new Date(clock.now() + 90_000)
    expect(await engine.runs.explain(run)).toMatchObject({
      rate: { limit: 1, perMs: 90_000 },
      nextStartAt,
      sentence: `The run is queued in queue "mail": its rate is 1 per 90s, and the next run starts at ${nextStartAt.toISOString()}.`,
    })
    expect(await engine.queues()).toMatchObject([
      { name: 'mail', rate: { limit: 1, perMs: 90_000 }, queued: 1 },
    ])
  })

  it.each([
    [{ limit: 0, per: '1m' }, /rate\.limit 0.*1 to 1000000/],
    [{ limit: 1.5, per: '1m' }, /rate\.limit 1\.5/],
    [{ limit: 1 }, /per/],
    [{ limit: 1, per: '10' }, /per "10"/],
    [{ limit: 1, per: 999 }, /per 999: it must be from a second to a year/],
    [{ limit: 1, per: '2y' }, /from a second to a year/],
    [{ limit: 1, per: '1m', burst: 2 }, /no option "burst"/],
    ['100/m', /must be an object/],
  ])('refuses %j before anything has changed', async (rate, message) => {
    const run = (): undefined => undefined
    expect(() => task({ id: 'mail', queue: { rate: rate as never }, run })).toThrow(message)
    await using t = await createTestEngine({ tasks: [] })
    const error = await rejection(t.engine.queue('mail').setRate(rate as never))
    expect(String(error)).toMatch(/the rate of a queue/)
    expect(await t.engine.queues()).toEqual([])
  })

  it('is refused where two tasks of a queue have two of them, and by a storage that cannot keep to it', async () => {
    const mail = (id: string, limit: number) =>
      task({ id, queue: { name: 'mail', rate: { limit, per: '1h' } }, run: () => undefined })
    expect(() => createEngine({ tasks: [mail('a', 1), mail('b', 2)] })).toThrow(
      'Cannot create the engine: queue "mail" has two rates, 1 per 1h and 2 per 1h',
    )
    const { rates: _, ...storage } = memoryStorage()
    const code = { code: 'ERR_CANNOT_SET_QUEUE' }
    expect(() => createEngine({ tasks: [mail('a', 1)], storage })).toThrow(
      expect.objectContaining(code) as Error,
    )
    await using t = await createTestEngine({ tasks: [], storage })
    for (const call of [() => t.engine.queue('mail').setRate(RATE), () => t.engine.queue('mail').resetRate()])
      expect(await rejection(call())).toMatchObject(code)
  })
})

const step = fc.oneof(
  fc.record({ kind: fc.constant('trigger' as const), by: fc.nat(1), key: fc.nat(1) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
)

describe('a random program under a rate', () => {
  it('starts no run too many in any period, and none later than it may', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 16 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, limit) => {
          await using two = await twoEngines({ rate: { limit, per: '1m' } })
          const { engine, other, mail, clock, starts } = two
          const begunAt = clock.now()
          /** When each run may start at the earliest, by key: runs of a key start in the order in which they were triggered. */
          const expected: number[][] = [[], []]
          for (const one of steps) {
            if (one.kind === 'pass') {
              await clock.advance(one.ms)
              continue
            }
            const of = expected[one.key] ?? []
            const before = of.at(-limit)
            of.push(Math.max(clock.now() - begunAt, before === undefined ? 0 : before + 60_000))
            await (one.by === 0 ? engine : other).trigger(mail, String(one.key), {
              concurrencyKey: String(one.key),
            })
            await clock.settle()
          }
          await clock.advance('20m')
          for (const [key, instants] of expected.entries())
            expect(starts.filter(({ name }) => name === String(key)).map(({ at }) => at)).toEqual(instants)
        },
      ),
      { numRuns: cases(40) },
    )
  })
})
