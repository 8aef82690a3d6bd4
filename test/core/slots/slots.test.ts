import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Engine, memoryStorage, type Task, task, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { alwaysAsync } from '../../../src/testing/storages/async.ts'
import { projectStorage, storageOfThisProcess } from '../../support/abandon.ts'
import { kernelOf } from '../../../src/core/engine.ts'
import { bodyTask } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { cases } from '../../support/cases.ts'
import { turn, until } from '../../support/turn.ts'

const IDLE = { attempts: 0, executing: 0, waits: 0 }

async function statusOf(engine: Engine, id: string): Promise<string> {
  return (await engine.runs.retrieve(id)).status
}

describe('a resume that is refused', () => {
  /** A run that waits in each of two queues, and one that executes in the first, in an engine whose resumes can be held. */
  async function twoWaiting({ concurrency }: { readonly concurrency: number }) {
    const steered = steeredStorage(storageOfThisProcess())
    const order: string[] = []
    const letGo = createDeferred<void>()
    const work = (queue: string) =>
      task({
        id: queue,
        queue: { name: queue },
        run: async (token: string) => {
          if (token === '') return letGo.promise
          await wait.forToken(token)
          order.push(queue)
        },
      })
    const [one, two] = [work('one'), work('two')]
    const clock = { mode: 'manual' } as const
    const t = await createTestEngine({ tasks: [one, two], storage: steered.storage, concurrency, clock })
    const tokens = []
    for (const each of [one, two]) {
      const token = await t.engine.wait.createToken({ timeout: '1d' })
      await t.engine.trigger(each, token.id)
      tokens.push(token)
      await until(() => t.engine.stats().waiting === tokens.length)
    }
    return { t, steered, order, one, tokens, letGo: () => letGo.resolve() }
  }

  const resumes = (calls: readonly string[]): number => calls.filter((name) => name === 'runs.resume').length

  it('is asked again at once when a slot was given back before the refusal came', async () => {
    const { t, steered, order, one, tokens, letGo } = await twoWaiting({ concurrency: 10 })
    await using _ = t
    const busy = await t.engine.trigger(one, '')
    await until(() => t.engine.stats().executing === 1)
    await t.engine.queue('one').setLimit(1)
    const answer = steered.holdAnswer('runs.resume')
    await t.engine.wait.completeToken(tokens[0]!)
    await until(() => resumes(steered.calls) === 1)
    letGo()
    await busy.result()
    await until(() => t.engine.stats().attempts === 2)
    answer()
    await until(() => order.length === 1)
    expect([order, resumes(steered.calls)]).toEqual([['one'], 2])
  })

  it('does not hold up a run of another queue, which had no room meanwhile', async () => {
    const { t, steered, order, tokens } = await twoWaiting({ concurrency: 1 })
    await using _ = t
    await t.engine.queue('one').pause()
    const answer = steered.holdAnswer('runs.resume')
    await t.engine.wait.completeToken(tokens[0]!)
    await until(() => resumes(steered.calls) === 1)
    await t.engine.wait.completeToken(tokens[1]!)
    await turn()
    answer()
    await until(() => order.length === 1)
    expect(order).toEqual(['two'])
  })
})

describe('resumes that are refused', () => {
  it('are not asked again when runs of other queues end', async () => {
    const steered = steeredStorage(storageOfThisProcess())
    const ask = task({ id: 'ask', queue: { name: 'desk' }, run: (token: string) => wait.forToken(token) })
    const note = task({ id: 'note', run: (name: string) => name })
    const clock = { mode: 'manual' } as const
    await using t = await createTestEngine({
      tasks: [ask, note],
      storage: steered.storage,
      concurrency: 2,
      clock,
    })
    const resumes = (): number => steered.calls.filter((name) => name === 'runs.resume').length
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    const runs = []
    for (const concurrencyKey of ['a', 'b', 'c']) {
      runs.push(await t.engine.trigger(ask, token.id, { concurrencyKey }))
      await until(() => t.engine.stats().waiting === runs.length)
    }
    await t.engine.queue('desk').pause()
    await t.engine.wait.completeToken(token)
    await until(() => resumes() === 3)
    for (const name of ['one', 'two']) await (await t.engine.trigger(note, name)).result()
    expect(resumes()).toBe(3)
    await t.engine.queue('desk').resume()
    for (const run of runs) await run.result()
  })
})

describe('parking', () => {
  it('is recorded after one turn of waiting, and gives the slot back', async () => {
    const waiting = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    await using t = await createTestEngine({ tasks: [waiting], clock: { mode: 'manual' } })
    const statuses: string[] = []
    t.engine.on('run', ({ status }) => void statuses.push(status))
    const run = await t.engine.trigger(waiting, null)
    await t.clock.settle()
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    expect(t.engine.stats()).toMatchObject({ attempts: 1, executing: 0, waits: 1 })
    await t.clock.until(run.result())
    await t.clock.settle()
    expect(statuses).toEqual(['QUEUED', 'EXECUTING', 'WAITING', 'EXECUTING', 'COMPLETED'])
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('does not happen when the wait is settled in the same turn, as a storage of this process can', async () => {
    const quick = bodyTask(async ({ wait }) => {
      for (let n = 0; n < 5; n += 1) {
        const token = await wait.createToken()
        const waiting = wait.forToken(token)
        await wait.completeToken(token, n)
        await waiting
      }
    })
    const steered = steeredStorage(storageOfThisProcess())
    await using t = await createTestEngine({ tasks: [quick], storage: steered.storage })
    await (await t.engine.trigger(quick, null)).result()
    expect(steered.calls.filter((name) => name === 'runs.park')).toEqual([])
  })

  it('happens while one of several waits is open, and again after each that is settled', async () => {
    const several = bodyTask(async ({ wait }) => {
      await Promise.all([wait.for({ minutes: 1 }), wait.for({ minutes: 2 }), wait.for({ minutes: 3 })])
    })
    await using t = await createTestEngine({ tasks: [several], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(several, null)
    for (let minute = 0; minute < 3; minute += 1) {
      await t.clock.settle()
      expect(await statusOf(t.engine, run.id)).toBe('WAITING')
      await t.clock.advance('1m')
    }
    expect(await statusOf(t.engine, run.id)).toBe('COMPLETED')
  })

  it('does not happen to a run whose waits have all been dropped', async () => {
    const dropping = bodyTask(async ({ wait }) => {
      const abort = new AbortController()
      const waiting = wait.forToken(await wait.createToken(), { signal: abort.signal })
      abort.abort(new Error('changed my mind'))
      await waiting.catch(() => undefined)
      await t.clock.sleep('1m')
    })
    await using t = await createTestEngine({ tasks: [dropping], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(dropping, null)
    await t.clock.settle()
    expect(await statusOf(t.engine, run.id)).toBe('EXECUTING')
    await t.clock.until(run.result())
  })

  it('that storage cannot record right now does not lose the run', async () => {
    const steered = steeredStorage(projectStorage())
    const waiting = bodyTask(({ wait }) => wait.for({ minutes: 1 }).then(() => 'rested'))
    await using t = await createTestEngine({
      tasks: [waiting],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => void errors.push(error))
    const failures = [steered.fail('runs.park'), steered.fail('runs.park')]
    const run = await t.engine.trigger(waiting, null)
    await t.clock.advance('10m')
    expect(errors).toEqual(failures)
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'rested' })
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('gives the slot back once when storage refuses the resume', async () => {
    const waiting = bodyTask(({ wait }) => wait.for({ minutes: 1 }))
    await using t = await createTestEngine({ tasks: [waiting], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(waiting, null)
    await t.clock.settle()
    const { host } = kernelOf(t.engine)
    const { epoch } = (await host.storage.runs.get(run.id))!
    const now = t.clock.now()
    // As another engine would, but without a hint to this one.
    await host.storage.runs.update({
      id: run.id,
      expected: { status: ['WAITING'], epoch },
      change: { status: 'CANCELED', epoch: epoch + 1, finishedAt: now, slot: false },
      by: host.owner,
      now,
    })
    kernelOf(t.engine).slots.wake(kernelOf(t.engine).executor.attempts.get(run.id)!)
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it('whose acknowledgement was lost does not lose the run', async () => {
    const steered = steeredStorage(projectStorage())
    const waiting = bodyTask(({ wait }) => wait.for({ minutes: 1 }).then(() => 'rested'))
    await using t = await createTestEngine({
      tasks: [waiting],
      storage: steered.storage,
      clock: { mode: 'manual' },
    })
    steered.loseAnswer('runs.park')
    const run = await t.engine.trigger(waiting, null)
    await t.clock.advance('10m')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'rested' })
    expect(t.engine.stats()).toMatchObject(IDLE)
  })

  it.each([
    { hold: 'holdCall', tells: 'the park before its own answer does' },
    { hold: 'holdAnswer', tells: 'the run before the park' },
  ] as const)('keeps its number while a write that is out over it tells of $tells', async ({ hold }) => {
    const steered = steeredStorage(storageOfThisProcess())
    const waiting = bodyTask(({ metadata, wait }) => {
      metadata.set('step', 1)
      return wait.for({ minutes: 1 }).then(() => 'rested')
    })
    const clock = { mode: 'manual' } as const
    await using t = await createTestEngine({ tasks: [waiting], storage: steered.storage, clock })
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => void errors.push(error))
    const goOn = steered[hold]('runs.update')
    const lost = hold === 'holdCall' ? [steered.loseAnswer('runs.park')] : []
    const run = await t.engine.trigger(waiting, null)
    await until(() => steered.calls.includes('runs.update') && errors.length === lost.length)
    if (hold === 'holdAnswer') await until(() => t.engine.stats().waiting === 1)
    goOn()
    await t.clock.advance('10m')
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'rested' })
    expect(t.engine.stats()).toMatchObject(IDLE)
  })
})

describe('resuming', () => {
  it.each(['fail', 'loseAnswer'] as const)(
    'that storage cannot record right now does not lose the run: %s',
    async (how) => {
      const steered = steeredStorage(projectStorage())
      const waiting = bodyTask(({ wait }) => wait.for({ minutes: 1 }).then(() => 'rested'))
      await using t = await createTestEngine({
        tasks: [waiting],
        storage: steered.storage,
        clock: { mode: 'manual' },
      })
      steered[how]('runs.resume')
      const run = await t.engine.trigger(waiting, null)
      await t.clock.advance('10m')
      expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'rested' })
      expect(t.engine.stats()).toMatchObject(IDLE)
    },
  )

  it('comes before starting: a run that can go on gets the next slot', async () => {
    const order: string[] = []
    const worker = task({
      id: 'worker',
      run: async (name: string, { wait }) => {
        order.push(`${name} starts`)
        if (name === 'first') await wait.for({ seconds: 5 })
        else await t.clock.sleep('10s')
        order.push(`${name} ends`)
      },
    })
    await using t = await createTestEngine({ tasks: [worker], concurrency: 1 })
    const runs = []
    for (const name of ['first', 'second', 'third', 'fourth']) runs.push(await t.engine.trigger(worker, name))
    await Promise.all(runs.map((run) => run.result()))
    expect(order).toEqual([
      'first starts',
      'second starts',
      'second ends',
      'first ends',
      'third starts',
      'third ends',
      'fourth starts',
      'fourth ends',
    ])
  })

  it('comes before starting also where the limit is that of a queue', async () => {
    const order: string[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (name: string, { wait }) => {
        if (name === 'first') await wait.for({ seconds: 5 })
        else await t.clock.sleep('10s')
        order.push(name)
      },
    })
    await using t = await createTestEngine({ tasks: [worker] })
    const runs = []
    for (const name of ['first', 'second', 'third']) runs.push(await t.engine.trigger(worker, name))
    await Promise.all(runs.map((run) => run.result()))
    expect(order).toEqual(['second', 'first', 'third'])
  })

  it('goes in the order in which runs could go on', async () => {
    const order: number[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (n: number, { wait }) => {
        if (n === 0) return t.clock.sleep('1m')
        await wait.for({ seconds: n })
        order.push(n)
        await t.clock.sleep('1s')
      },
    })
    await using t = await createTestEngine({ tasks: [worker] })
    const runs = []
    for (const n of [3, 1, 4, 2, 0]) runs.push(await t.engine.trigger(worker, n))
    await Promise.all(runs.map((run) => run.result()))
    expect(order).toEqual([1, 2, 3, 4])
  })

  it('settles a token at once, long before the run goes on', async () => {
    const waiting = bodyTask(async ({ wait, metadata }) => {
      const token = await wait.createToken({ timeout: '1h' })
      metadata.set('token', token.id)
      return wait.forToken<string>(token)
    })
    const busy = bodyTask(() => t.clock.sleep('1d'), { id: 'busy' })
    await using t = await createTestEngine({
      tasks: [waiting, busy],
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    const run = await t.engine.trigger(waiting, null)
    await t.engine.trigger(busy, null)
    await t.clock.settle()
    const token = (await t.engine.runs.retrieve(run.id)).metadata['token'] as string
    expect(await t.engine.wait.completeToken(token, 'yes')).toEqual({ success: true, status: 'COMPLETED' })
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    expect((await t.engine.runs.retrieve(run.id)).waitingOn).toEqual([])
    await t.clock.advance('2h')
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    expect(await t.clock.until(run.result())).toEqual({ ok: true, output: 'yes' })
  })

  it('gives its slot back once, when the run was canceled and that is not acknowledged yet', async () => {
    let executing = 0
    let most = 0
    const ask = task({ id: 'ask', run: (token: string, { wait }) => wait.forToken(token) })
    const work = bodyTask(async () => {
      most = Math.max(most, (executing += 1))
      await t.clock.sleep('1s')
      executing -= 1
    })
    const steered = steeredStorage(projectStorage())
    const updates = (): number => steered.calls.filter((name) => name === 'runs.update').length
    await using t = await createTestEngine({
      tasks: [ask, work],
      storage: steered.storage,
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    for (let n = 0; n < 3; n += 1) {
      const token = await t.engine.wait.createToken()
      const run = await t.engine.trigger(ask, token.id)
      await t.clock.settle()
      const answer = steered.holdAnswer('runs.update')
      const before = updates()
      const canceled = t.engine.runs.cancel(run.id)
      await until(() => updates() > before)
      await turn()
      await t.engine.wait.completeToken(token, 'late')
      await until(() => t.engine.stats().attempts === 0)
      answer()
      await canceled
    }
    expect(t.engine.stats()).toMatchObject(IDLE)
    const runs = await Promise.all([1, 2, 3].map(() => t.engine.trigger(work, null)))
    await t.clock.until(Promise.all(runs.map((run) => run.result())))
    expect(most).toBe(1)
  })

  it('follows at once when a canceled run has let go of its slot', async () => {
    const order: string[] = []
    const worker = task({
      id: 'worker',
      queue: { concurrencyLimit: 1 },
      run: async (name: string, { wait, signal }) => {
        if (name === 'parked') await wait.for({ seconds: 5 })
        else await t.clock.sleep('1h', { signal })
        order.push(name)
      },
    })
    await using t = await createTestEngine({ tasks: [worker], clock: { mode: 'manual' } })
    await t.engine.trigger(worker, 'parked')
    const busy = await t.engine.trigger(worker, 'busy')
    await t.clock.advance('6s')
    expect(order).toEqual([])
    await t.engine.runs.cancel(busy)
    await t.clock.settle()
    expect(order).toEqual(['parked'])
  })
})

describe('limits', () => {
  it.each([
    [{ name: 'a' }, 'b', 'a\nb'],
    [{ name: 'a' }, 'b', '1:ab'],
    [{ name: 'a' }, 'b', '["a","b"]'],
  ])('are those of the own queue, whatever it is called: %j and key %j, or %j', async (queue, key, name) => {
    const done: string[] = []
    const limited = task({
      id: 'limited',
      queue: { ...queue, concurrencyLimit: 1 },
      run: async (ms: number, { wait }) => {
        await wait.for({ seconds: 1 })
        await t.clock.sleep(ms)
        done.push('limited')
      },
    })
    const free = task({
      id: 'free',
      queue: { name, concurrencyLimit: 1 },
      run: async (_payload: null, { wait }) => {
        await wait.for({ seconds: 2 })
        done.push('free')
      },
    })
    await using t = await createTestEngine({ tasks: [limited, free], clock: { mode: 'manual' } })
    for (const ms of [60_000, 60_000]) await t.engine.trigger(limited, ms, { concurrencyKey: key })
    await t.clock.settle()
    await t.engine.trigger(free, null)
    await t.clock.advance('10s')
    expect(done).toEqual(['free'])
    await t.clock.advance('5m')
    expect(done).toEqual(['free', 'limited', 'limited'])
  })

  it('count for a queue over all tasks and engines on one storage', async () => {
    const storage = projectStorage()
    const clock = testClock()
    let executing = 0
    let most = 0
    const work = (id: string): Task<null, void> =>
      task({
        id,
        queue: { name: 'shared', concurrencyLimit: 2 },
        run: async (_payload: null) => {
          most = Math.max(most, (executing += 1))
          await clock.sleep('1s')
          executing -= 1
        },
      })
    const tasks = [work('one'), work('two')] as const
    await using a = await createTestEngine({ tasks, storage, clock, seed: 'a' })
    await using b = await createTestEngine({ tasks, storage, clock, seed: 'b' })
    const runs = []
    for (let n = 0; n < 6; n += 1) {
      runs.push(await a.engine.trigger(tasks[0], null), await b.engine.trigger(tasks[1], null))
    }
    const start = clock.now()
    await Promise.all(runs.map((run) => run.result()))
    expect(most).toBe(2)
    expect(clock.now() - start).toBe(6_000)
  })

  it('of a queue count for each concurrency key on its own', async () => {
    const executing = new Map<string, number>()
    let most = 0
    let together = 0
    const work = task({
      id: 'work',
      queue: { concurrencyLimit: 1 },
      run: async (key: string) => {
        executing.set(key, (executing.get(key) ?? 0) + 1)
        most = Math.max(most, ...executing.values())
        together = Math.max(together, [...executing.values()].filter((count) => count > 0).length)
        await t.clock.sleep('1s')
        executing.set(key, executing.get(key)! - 1)
      },
    })
    await using t = await createTestEngine({ tasks: [work] })
    const runs = []
    for (const key of ['a', 'b', 'a', 'c', 'b']) {
      runs.push(await t.engine.trigger(work, key, { concurrencyKey: key }))
    }
    await Promise.all(runs.map((run) => run.result()))
    expect([most, together]).toEqual([1, 3])
  })

  it('of an engine hold when a claim and a resume are asked at once', async () => {
    const steered = steeredStorage(projectStorage())
    let executing = 0
    let most = 0
    const work = task({
      id: 'work',
      run: async (token: string | null, { wait }) => {
        if (token !== null) await wait.forToken(token)
        most = Math.max(most, (executing += 1))
        await t.clock.sleep('1m')
        executing -= 1
      },
    })
    await using t = await createTestEngine({
      tasks: [work],
      storage: steered.storage,
      concurrency: 1,
      clock: { mode: 'manual' },
    })
    const token = await t.engine.wait.createToken()
    const parks = await t.engine.trigger(work, token.id)
    await t.clock.settle()
    const answer = steered.holdAnswer('runs.claim')
    const works = await t.engine.trigger(work, null)
    await until(() => steered.calls.at(-1) === 'runs.claim')
    await t.engine.wait.completeToken(token)
    answer()
    await t.clock.until(Promise.all([parks.result(), works.result()]))
    expect(most).toBe(1)
  })

  it.each(['memory', 'always-async memory'])(
    'are never exceeded, whatever the runs do, on %s',
    async (kind) => {
      const step = fc.oneof(
        fc.record({ kind: fc.constant('work' as const), ms: fc.integer({ min: 0, max: 30 }) }),
        fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 30 }) }),
        fc.record({ kind: fc.constant('child' as const), ms: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ kind: fc.constant('throw' as const), ms: fc.constant(0) }),
      )
      const job = fc.record({
        queue: fc.constantFrom('a', 'b'),
        key: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
        delay: fc.integer({ min: 0, max: 20 }),
        cancelAt: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
        steps: fc.array(step, { maxLength: 4 }),
      })
      const workload = fc.record({
        concurrency: fc.integer({ min: 1, max: 3 }),
        limits: fc.record({ a: fc.integer({ min: 1, max: 2 }), b: fc.integer({ min: 1, max: 3 }) }),
        jobs: fc.array(job, { minLength: 1, maxLength: 10 }),
      })
      type Job = typeof job extends fc.Arbitrary<infer Value> ? Value : never

      await fc.assert(
        fc.asyncProperty(workload, async ({ concurrency, limits, jobs }) => {
          const executing = new Map<string, number>()
          const excesses: string[] = []
          /** Holds a slot for as long as it does not wait. */
          const enter = (name: string): void => {
            const ownLimit = { a: limits.a, b: limits.b, l: Infinity }[name[0] as 'a' | 'b' | 'l']
            for (const [counter, limit] of Object.entries({ engine: concurrency, [name]: ownLimit })) {
              const count = (executing.get(counter) ?? 0) + 1
              executing.set(counter, count)
              if (count > limit) excesses.push(`${counter}: ${count} of ${limit}`)
            }
          }
          const leave = (name: string): void => {
            for (const counter of ['engine', name]) executing.set(counter, executing.get(counter)! - 1)
          }
          const make = (queue: 'a' | 'b'): Task<Job, void> =>
            task({
              id: queue,
              queue: { concurrencyLimit: limits[queue] },
              retry: { maxAttempts: 2, minTimeoutInMs: 10 },
              run: async ({ steps, key }: Job, { wait, signal }) => {
                const name = `${queue}/${key ?? ''}`
                enter(name)
                let isInside = true
                try {
                  for (const { kind: what, ms } of steps) {
                    if (what === 'throw') throw new Error('planned')
                    if (what === 'work') await t.clock.sleep(ms, { signal })
                    if (what === 'work') continue
                    // A wait that rejects was canceled: from then on the run has no slot.
                    leave(name)
                    isInside = false
                    if (what === 'wait') await wait.until({ date: new Date(t.clock.now() + ms) })
                    else await leaf.triggerAndWait(ms)
                    enter(name)
                    isInside = true
                  }
                } finally {
                  if (isInside) leave(name)
                }
              },
            })
          const leaf = task({
            id: 'leaf',
            run: async (ms: number) => {
              enter('leaf')
              await t.clock.sleep(ms)
              leave('leaf')
            },
          })
          const tasks = { a: make('a'), b: make('b') }
          const storage = kind === 'memory' ? memoryStorage() : alwaysAsync(memoryStorage())
          await using t = await createTestEngine({
            tasks: [tasks.a, tasks.b, leaf],
            concurrency,
            storage,
            clock: { mode: 'manual' },
          })
          const runs = await Promise.all(
            jobs.map((planned) =>
              t.engine.trigger(tasks[planned.queue], planned, {
                delay: planned.delay,
                ...(planned.key === undefined ? {} : { concurrencyKey: planned.key }),
              }),
            ),
          )
          for (let ms = 0; ms <= 60; ms += 1) {
            for (const [index, { cancelAt }] of jobs.entries()) {
              if (cancelAt === ms) await t.engine.runs.cancel(runs[index]!)
            }
            await t.clock.advance(1)
          }
          await t.clock.until(Promise.all(runs.map((run) => run.outcome())))
          await t.clock.runAll()
          expect(excesses).toEqual([])
          expect(t.engine.stats()).toMatchObject(IDLE)
        }),
        { numRuns: cases(60) },
      )
    },
  )
})
