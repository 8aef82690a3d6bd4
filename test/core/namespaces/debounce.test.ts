import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage, type Storage, StorageUnavailableError, task, type TriggerOptions } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn } from '../../support/turn.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'

const echo = task({ id: 'echo', run: (payload: unknown) => payload ?? 'nothing' })
const other = task({ id: 'other', run: (payload: unknown) => payload })
const FIVE = { debounce: { key: 'k', delay: '5s' } } as const
const LAST = { debounce: { ...FIVE.debounce, mode: 'trailing' } } as const
const manual = { tasks: [echo, other], clock: { mode: 'manual' } } as const

describe('debounce', () => {
  it('makes one run of the triggers of a key, which begins when none came for as long as its delay', async () => {
    await using t = await createTestEngine(manual)
    const from = t.clock.now()
    const first = await t.engine.trigger(echo, 1, FIVE)
    await t.clock.advance('4s')
    const second = await t.engine.trigger(echo, 2, FIVE)
    expect([first.isCached, second.isCached, second.id]).toEqual([false, true, first.id])
    await t.clock.advanceTo(new Date(from + 8_999))
    expect(await t.engine.runs.retrieve(first)).toMatchObject({
      status: 'DELAYED',
      debounceKey: 'k',
      delayedUntil: new Date(from + 9_000),
    })
    expect((await t.engine.runs.retrieve(first)).idempotencyKey).toBeUndefined()
    await t.clock.advanceTo(new Date(from + 9_000))
    expect(await first.result()).toBe(1)
    expect((await t.engine.runs.retrieve(first)).startedAt).toEqual(new Date(from + 9_000))
  })

  it('makes a new run once the one before is due', async () => {
    await using t = await createTestEngine({ ...manual, execute: false })
    const first = await t.engine.trigger(echo, 1, FIVE)
    await t.clock.advance('5s')
    const second = await t.engine.trigger(echo, 2, FIVE)
    expect([second.isCached, second.id === first.id]).toEqual([false, false])
    expect((await t.engine.trigger(echo, 3, FIVE)).id).toBe(second.id)
  })

  it('makes a new run after one that was canceled', async () => {
    await using t = await createTestEngine(manual)
    const first = await t.engine.trigger(echo, 1, FIVE)
    await t.engine.runs.cancel(first)
    expect((await t.engine.trigger(echo, 2, FIVE)).isCached).toBe(false)
  })

  it('has keys for each task', async () => {
    await using t = await createTestEngine(manual)
    const first = await t.engine.trigger(echo, 1, FIVE)
    const another = await t.engine.trigger(other, 1, FIVE)
    expect([another.isCached, another.id === first.id]).toEqual([false, false])
    const keyed = await t.engine.trigger(echo, 1, { idempotencyKey: 'k' })
    expect(keyed.isCached).toBe(false)
  })

  it('takes, leading, all but the time from the first trigger', async () => {
    await using t = await createTestEngine(manual)
    const options = { ...FIVE, tags: ['one'], metadata: { n: 1 }, maxAttempts: 1 }
    const run = await t.engine.trigger(echo, 1, options)
    await t.engine.trigger(echo, 2, { ...FIVE, tags: ['two'], metadata: { n: 2 }, queue: { name: 'q' } })
    await t.clock.advance('5s')
    const { output, tags, metadata, queue } = await t.engine.runs.poll(run)
    expect({ output, tags, metadata, queue }).toEqual({
      output: 1,
      tags: ['one'],
      metadata: { n: 1 },
      queue: 'task/echo',
    })
  })

  it('takes, trailing, payload, tags, metadata, maxAttempts and maxDuration from the last trigger that gave them', async () => {
    let attempts = 0
    const failing = task({
      id: 'failing',
      retry: { maxAttempts: 9, minTimeoutInMs: 1, randomize: false },
      run: (payload: unknown, { ctx }) => {
        attempts += 1
        throw new Error(`${JSON.stringify(payload)} ${ctx.run.tags.join(' ')}`)
      },
    })
    await using t = await createTestEngine({ tasks: [failing], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(failing, 1, { ...LAST, tags: ['one'], metadata: { n: 1 } })
    await t.engine.trigger(failing, 2, { ...LAST, tags: ['two'], maxAttempts: 2, queue: { name: 'q' } })
    await t.engine.trigger(failing, undefined, LAST)
    await t.clock.advance('1m')
    const { error, tags, metadata, queue } = await t.engine.runs.poll(run)
    expect({ message: error?.message, tags, metadata, queue, attempts }).toEqual({
      message: 'undefined two',
      tags: ['two'],
      metadata: { n: 1 },
      queue: 'task/failing',
      attempts: 2,
    })
    expect((await t.engine.runs.list({ tag: 'one' })).data).toEqual([])
  })

  it('makes a new run instead of putting one off beyond maxDelay', async () => {
    await using t = await createTestEngine(manual)
    const options = { debounce: { key: 'k', delay: '5s', maxDelay: '10s', mode: 'trailing' } } as const
    const from = t.clock.now()
    const first = await t.engine.trigger(echo, 1, options)
    for (const n of [2, 3]) {
      await t.clock.advance(2_500)
      expect((await t.engine.trigger(echo, n, options)).id).toBe(first.id)
    }
    await t.clock.advance(1)
    const second = await t.engine.trigger(echo, 4, options)
    expect(second.isCached).toBe(false)
    await t.clock.advance('1m')
    expect(await Promise.all([first.result(), second.result()])).toEqual([3, 4])
    expect((await t.engine.runs.retrieve(first)).startedAt).toEqual(new Date(from + 10_000))
  })

  it('counts the ttl from the delay of the last trigger on', async () => {
    await using t = await createTestEngine({ ...manual, execute: false })
    const run = await t.engine.trigger(echo, 1, { ...FIVE, ttl: 10 })
    await t.clock.advance('4s')
    await t.engine.trigger(echo, 2, FIVE)
    await t.clock.advance('14s')
    expect((await t.engine.runs.retrieve(run)).status).toBe('DELAYED')
    await t.clock.advance('1s')
    expect((await t.engine.runs.retrieve(run)).status).toBe('EXPIRED')
  })

  it('begins a run at its own delay, if it has one, and never brings one forward', async () => {
    await using t = await createTestEngine(manual)
    const from = t.clock.now()
    const run = await t.engine.trigger(echo, 1, { ...FIVE, delay: '1m' })
    await t.engine.trigger(echo, 2, FIVE)
    expect((await t.engine.runs.retrieve(run)).delayedUntil).toEqual(new Date(from + 60_000))
    await t.clock.advance('58s')
    await t.engine.trigger(echo, 3, FIVE)
    expect((await t.engine.runs.retrieve(run)).delayedUntil).toEqual(new Date(from + 63_000))
  })

  it('puts off a run that was rescheduled', async () => {
    await using t = await createTestEngine(manual)
    const from = t.clock.now()
    const run = await t.engine.trigger(echo, 1, FIVE)
    await t.engine.runs.reschedule(run, { delay: '1m' })
    await t.clock.advance('58s')
    expect((await t.engine.trigger(echo, 2, FIVE)).id).toBe(run.id)
    expect((await t.engine.runs.retrieve(run)).delayedUntil).toEqual(new Date(from + 63_000))
  })

  it('debounces the items of a batch one after the other', async () => {
    await using t = await createTestEngine(manual)
    const items = [1, 2, 3].map((payload) => ({ payload, options: LAST }))
    const { runs } = await t.engine.tasks.batchTrigger<typeof echo>('echo', items)
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1)
    await t.clock.advance('5s')
    expect(await runs[0]?.result()).toBe(3)
  })

  it('tells subscribers that the run was put off, and answers its result to every handle', async () => {
    await using t = await createTestEngine(manual)
    const from = t.clock.now()
    const run = await t.engine.trigger(echo, 1, LAST)
    const seen: unknown[] = []
    const following = (async () => {
      for await (const { status, delayedUntil } of t.engine.runs.subscribeToRun(run))
        seen.push([status, delayedUntil?.getTime()])
    })()
    await t.clock.settle()
    await t.clock.advance('1s')
    const again = await t.engine.trigger(echo, 2, LAST)
    await t.clock.advance('5s')
    await following
    expect(await again.result()).toBe(2)
    expect(seen.slice(0, 2)).toEqual([
      ['DELAYED', from + 5_000],
      ['DELAYED', from + 6_000],
    ])
  })

  it('says so where it explains the run, and in the timeline', async () => {
    await using t = await createTestEngine(manual)
    const run = await t.engine.trigger(echo, 1, FIVE)
    const until = new Date(t.clock.now() + 5_000)
    expect(await t.engine.runs.explain(run)).toMatchObject({
      reason: 'delayed',
      until,
      debounceKey: 'k',
      sentence: `The run is delayed until ${until.toISOString()}, debounced with the key "k".`,
    })
    expect(await t.engine.timeline()).toMatchObject([
      {
        kind: 'run',
        reason: 'starts',
        sentence: expect.stringContaining('its delay, debounced with the key "k", is over') as unknown,
      },
    ])
  })

  it('works in a run, whose attempt is checked', async () => {
    const starter = bodyTask(async ({ tasks }) => {
      const one = await tasks.trigger<typeof echo>('echo', 1, LAST)
      const two = await tasks.trigger<typeof echo>('echo', 2, LAST)
      return [one.id === two.id, two.isCached]
    })
    await using t = await createTestEngine({ tasks: [echo, starter] })
    const run = await t.engine.trigger(starter, null)
    expect(await run.result()).toEqual([true, true])
  })

  it.each([
    ['a key that is empty', { key: '', delay: 1 }, 'debounce.key'],
    ['a key that is no text', { key: 1, delay: 1 }, 'debounce.key'],
    ['no delay', { key: 'k' }, 'debounce.delay'],
    ['a delay of nothing', { key: 'k', delay: 0 }, 'debounce.delay 0'],
    ['a date', { key: 'k', delay: new Date() }, 'must be a duration'],
    ['a delay without end', { key: 'k', delay: 1e17 }, 'no date is that far ahead'],
    ['a mode that there is not', { key: 'k', delay: 1, mode: 'both' }, '"leading" or "trailing"'],
    [
      'a maxDelay as short as the delay',
      { key: 'k', delay: '5s', maxDelay: 5_000 },
      'longer than debounce.delay',
    ],
    ['another name', { key: 'k', delay: 1, wait: 1 }, '"wait"'],
    ['no object', 'k', 'debounce'],
  ])('refuses %s', async (_, debounce, message) => {
    await using t = await createTestEngine(manual)
    await expect(t.engine.trigger(echo, 1, { debounce } as never)).rejects.toThrow(message)
    expect((await t.engine.runs.list()).data).toEqual([])
  })

  it.each([
    ['an idempotency key', { idempotencyKey: 'i' }, 'with an idempotencyKey'],
    ['a delay that is over', { delay: new Date(0) }, 'it must be ahead'],
  ])('refuses %s beside it', async (_, more, message) => {
    await using t = await createTestEngine(manual)
    await expect(t.engine.trigger(echo, 1, { ...FIVE, ...more })).rejects.toThrow(message)
  })

  it('refuses it on a storage that cannot put a run off', async () => {
    const { debounces: _, ...storage } = memoryStorage()
    await using t = await createTestEngine({ tasks: [echo], storage })
    await expect(t.engine.trigger(echo, 1, FIVE)).rejects.toMatchObject({ code: 'ERR_DEBOUNCE_UNSUPPORTED' })
  })

  it('is one run of two first triggers that reach the storage in another order', async () => {
    const steered = steeredStorage(memoryStorage())
    await using t = await createTestEngine({
      tasks: [echo],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    const release = steered.holdCall('runs.insert')
    const both = [t.engine.trigger(echo, 1, LAST), t.engine.trigger(echo, 2, LAST)]
    await turn()
    release()
    const [one, two] = await Promise.all(both)
    expect([one?.id === two?.id, one?.isCached, two?.isCached]).toEqual([true, true, false])
    await t.clock.advance('5s')
    expect(await two?.result()).toBe(1)
  })

  it('keeps what the last trigger gave when a change of the run was under way', async () => {
    const steered = steeredStorage(memoryStorage())
    await using t = await createTestEngine({
      tasks: [echo],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    const first = await t.engine.trigger(echo, 1, { ...LAST, tags: ['one'] })
    const release = steered.holdCall('runs.update')
    const tagged = t.engine.runs.addTags(first, 'added')
    while (!steered.calls.includes('runs.update')) await turn()
    await t.engine.trigger(echo, 2, { ...LAST, tags: ['two'] })
    release()
    await tagged
    expect(await t.engine.runs.retrieve(first)).toMatchObject({ payload: 2, tags: ['two', 'added'] })
  })

  it('is one run, and the delay of one trigger, when the answer to a trigger of a run was lost', async () => {
    let lost = 0
    const storage = wrapStorage(memoryStorage(), (name, operation) => async (...args) => {
      const answer = await operation(...args)
      const [request] = args as readonly { readonly push?: object }[]
      if (name !== 'runs.insert' || request?.push === undefined || lost === 1) return answer
      lost += 1
      throw new StorageUnavailableError('the answer was lost', { mayBeDone: true })
    })
    const starter = bodyTask(({ tasks }) =>
      tasks
        .trigger<typeof echo>('echo', 1, { ...FIVE, delay: '2s' })
        .then(({ id, isCached }) => ({ id, isCached })),
    )
    await using t = await createTestEngine({ tasks: [echo, starter], storage, clock: { mode: 'manual' } })
    const from = t.clock.now()
    const run = await t.engine.trigger(starter, null)
    await t.clock.advance('1s')
    const { id, isCached } = await run.result()
    const { delayedUntil } = await t.engine.runs.retrieve(id)
    expect([lost, isCached, delayedUntil]).toEqual([1, false, new Date(from + 2_000)])
    expect((await t.engine.runs.list({ taskIdentifier: 'echo' })).data).toHaveLength(1)
  })

  it('does what a small model of it does', () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 70 }),
      key: fc.constantFrom('a', 'b'),
      delay: fc.integer({ min: 1, max: 50 }),
      more: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      mode: fc.constantFrom('leading' as const, 'trailing' as const),
      engine: fc.boolean(),
    })
    return fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const [storage, clock]: [Storage, ReturnType<typeof testClock>] = [
          memoryStorage(),
          testClock({ mode: 'manual' }),
        ]
        await using one = await createTestEngine({ tasks: [echo], storage, clock })
        await using two = await createTestEngine({ tasks: [echo], storage, clock })
        const model = new Model()
        const ids: string[] = []
        for (const [at, { waitMs, key, delay, more, mode, engine }] of steps.entries()) {
          await clock.advance(waitMs)
          const maxDelay = more === undefined ? undefined : delay + more
          const debounce = { key, delay, mode, ...(maxDelay === undefined ? {} : { maxDelay }) }
          const options: TriggerOptions = { debounce }
          const run = await (engine ? one : two).engine.trigger(echo, at, options)
          const expected = model.trigger(clock.now(), at, { key, delay, mode, maxDelay })
          expect(run.isCached).toBe(expected < ids.length)
          if (expected === ids.length) ids.push(run.id)
          expect(run.id).toBe(ids[expected])
        }
        await clock.advance('1m')
        const runs = await Promise.all(ids.map((id) => one.engine.runs.retrieve(id)))
        expect(runs.map(({ output, startedAt }) => [output, startedAt?.getTime()])).toEqual(
          model.runs.map(({ payload, wakeAt }) => [payload, wakeAt]),
        )
      }),
      { numRuns: cases(100) },
    )
  })
})

interface ModelRun {
  readonly key: string
  readonly createdAt: number
  payload: number
  wakeAt: number
}

class Model {
  readonly runs: ModelRun[] = []

  /** The number of the run that a trigger is. */
  trigger(
    now: number,
    payload: number,
    {
      key,
      delay,
      mode,
      maxDelay = Infinity,
    }: { key: string; delay: number; mode: string; maxDelay?: number | undefined },
  ): number {
    const last = this.runs.findLastIndex((run) => run.key === key)
    const run = this.runs[last]
    if (run === undefined || run.wakeAt <= now || now + delay > run.createdAt + maxDelay)
      return this.runs.push({ key, createdAt: now, payload, wakeAt: now + delay }) - 1
    run.wakeAt = Math.max(run.wakeAt, now + delay)
    if (mode === 'trailing') run.payload = payload
    return last
  }
}
