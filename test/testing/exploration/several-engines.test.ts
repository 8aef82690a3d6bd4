import { describe, expect, it } from 'vitest'
import { once, task, wait } from 'waitpoint'
import { type Adapter, type Body, ExplorationError, type ExploreOptions } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { exploreAll } from './bodies.ts'

const order = task({
  id: 'order',
  run: async (_payload: null, { ctx }) => {
    const token = await wait.createToken({ timeout: '24h', tags: ['order'] })
    const answer = await wait.forToken<string>(token)
    const end = await once('end', () => (answer.ok ? answer.output : 'expired'))
    return { end, attempt: ctx.attempt.number }
  },
})

/** A web process triggers and completes; two workers execute. */
function shop(check?: (attempt: number) => void): Body {
  return async (t) => {
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker-1')
    t.startEngine('worker-2')
    const run = await web.trigger(order, null)
    const token = await t.waitingToken({ tag: 'order' })
    const { success } = await web.wait.completeToken(token.id, 'shipped')
    const { end, attempt } = await run.result()
    if (success && end !== 'shipped') throw new Error(`it was completed, and ends as ${end}`)
    check?.(attempt)
  }
}

describe('several engines on one storage', () => {
  const one = { tasks: [order], maxDeviations: 1 } satisfies ExploreOptions

  it('keep their promises in every order', async () => {
    const { complete, waits } = await exploreAll(shop(), one)
    expect(complete).toBe(true)
    expect(waits['order.token']).toHaveProperty('COMPLETED')
  })

  it.each([{ crashes: 'every-commit' }, { pauses: 'every-commit' }] as const)(
    'keep their promises, and take runs over, with %o',
    async (options) => {
      let taken = 0
      const body = shop((attempt) => void (taken += attempt > 1 ? 1 : 0))
      expect(await exploreAll(body, { ...one, ...options })).toMatchObject({ complete: true })
      expect(taken).toBeGreaterThan(0)
    },
  )

  it('find late what a lost hint would have told, and nothing else', async () => {
    const options = { ...one, faults: ['lost'] } as const
    let latest = 0
    const body: Body = async (t) => {
      const startedAt = t.clock.now()
      await shop()(t)
      latest = Math.max(latest, t.clock.now() - startedAt)
    }
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    expect(latest).toBeGreaterThanOrEqual(10_000)
  })

  it('keep their promises with crashes, pauses, faults and wrong clocks at once', async () => {
    const options = {
      tasks: [order],
      crashes: 'every-commit',
      pauses: 'every-commit',
      faults: ['error', 'lost', 'late'],
      clockSkewsMs: [-40_000, 5_000],
    } as const
    for (const decider of ['random', 'pct'] as const) {
      const { runs } = await exploreAll(shop(), { ...options, decider, budget: { runs: 150 } })
      expect(runs).toBe(150)
    }
  })

  it('refuses what an engine writes that stood still beyond its lease', async () => {
    const codes: unknown[] = []
    const write = task({
      id: 'write',
      run: async (_payload: null, { ctx }) => {
        try {
          await wait.createToken({ timeout: '1h' })
        } catch (error) {
          if (error instanceof Error && 'code' in error) codes.push(error.code)
          throw error
        }
        return ctx.attempt.number
      },
    })
    const body: Body = async (t) => {
      t.startEngine('worker')
      const web = t.startEngine('web', { execute: false })
      const run = await web.trigger(write, null)
      t.startEngine('other')
      t.sometimes('another engine ended it', (await run.result()) > 1)
    }
    const options = { tasks: [write], pauses: 'every-commit', maxDeviations: 1 } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    expect(new Set(codes)).toEqual(new Set(['ERR_STALE_ATTEMPT']))
  })

  it('show a storage that takes what such an engine writes', async () => {
    const adapter: Adapter = (storage) => ({
      ...storage,
      tokens: {
        ...storage.tokens,
        insert: ({ fence: _fence, ...request }) => storage.tokens.insert(request),
      },
    })
    const body: Body = async (t) => {
      const write = task({
        id: 'write',
        run: async (_payload: null) => {
          await t.step('read')
          await wait.createToken({ timeout: '1h' })
        },
      })
      t.use(write)
      const web = t.startEngine('web', { execute: false })
      for (const name of ['worker-1', 'worker-2']) t.startEngine(name)
      const run = await web.trigger(write, null)
      await run.result()
    }
    const options = { pauses: 'every-commit', maxDeviations: 1 } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
    const error = await rejection(exploreAll(body, { ...options, adapter }))
    expect(error).toMatchObject({ invariant: 'a run has one attempt that writes' })
  })

  it('passes hours without a step for their leases', async () => {
    const body: Body = async (t) => {
      t.startEngine('worker-1')
      t.startEngine('worker-2')
      await t.clock.sleep('1000d')
      expect(t.engine.stats().attempts).toBe(0)
    }
    expect(await exploreAll(body, { maxSteps: 20 })).toMatchObject({ complete: true })
  })

  it('lets the body crash one of them, and hold one for a while', async () => {
    const nap = task({ id: 'nap', run: async (_payload: null) => wait.for({ hours: 1 }) })
    const body: Body = async (t) => {
      const worker = t.startEngine('worker')
      const started = t.clock.now()
      const run = await worker.trigger(nap, null)
      await t.clock.sleep(1)
      t.pause(worker, '2h')
      await run.result()
      expect(t.clock.now() - started).toBeGreaterThanOrEqual(7_200_000)
      const again = await worker.trigger(nap, null)
      await t.clock.sleep(1)
      t.crash(worker)
      await again.result()
      expect(() => t.crash({ ...worker })).toThrow('Cannot crash or pause this engine')
    }
    expect(await exploreAll(body, { tasks: [nap], maxDeviations: 0 })).toMatchObject({ runs: 1 })
  })

  it('find a run that is due later by the renewal of their leases, as no hint tells it', async () => {
    const late = task({ id: 'late', run: (_payload: null) => 'done' })
    const body: Body = async (t) => {
      const started = t.clock.now()
      t.startEngine('worker')
      const web = t.startEngine('web', { execute: false })
      const run = await web.trigger(late, null, { delay: '1h' })
      await run.result()
      expect(t.clock.now()).toBe(started + 3_600_000)
    }
    expect(await exploreAll(body, { tasks: [late], maxDeviations: 1 })).toMatchObject({ complete: true })
  })

  it('refuses options that cannot be used', async () => {
    const body: Body = (t) => {
      // @ts-expect-error -- misspelt
      expect(() => t.startEngine('web', { exeute: false })).toThrow('there is no option "exeute"')
      expect(() => t.pause(t.engine, 'soon')).toThrow('Cannot read duration "soon"')
      expect(() => t.crash(t.elsewhere)).toThrow('Cannot crash or pause this engine')
      return Promise.resolve()
    }
    await exploreAll(body, { maxDeviations: 0 })
    const wrong: readonly (readonly [ExploreOptions, string])[] = [
      // @ts-expect-error -- no such value
      [{ pauses: true }, 'pauses'],
      // @ts-expect-error -- it must be a list
      [{ clockSkewsMs: 5 }, 'clockSkewsMs'],
      [{ clockSkewsMs: [0.5] }, 'clockSkewsMs'],
      // @ts-expect-error -- no such fault
      [{ faults: ['response'] }, 'lost-response'],
    ]
    for (const [options, named] of wrong)
      expect(String(await rejection(exploreAll(body, options)))).toContain(named)
  })

  it('have names of their own', async () => {
    const body: Body = (t) => {
      t.startEngine('worker')
      for (const name of ['worker', 'engine', 'body']) expect(() => t.startEngine(name)).toThrow('another')
      expect(() => t.startEngine('a worker')).toThrow('letters, digits')
      return Promise.resolve()
    }
    await exploreAll(body, { maxDeviations: 0 })
  })

  it.each([
    ['a hint', { faults: ['lost'] }, /▶ 1m +worker: hint of queue: is lost/],
    ['a wrong clock', { clockSkewsMs: [-5_000] }, /▶ 0ms +worker: its clock: is 5s behind/],
  ] as const)('tell of %s in the story of a failure', async (_what, options, told) => {
    const look = task({ id: 'look', run: (_payload: null) => 'done' })
    const body: Body = async (t) => {
      const worker = t.startEngine('worker')
      const web = t.startEngine('web', { execute: false })
      await t.clock.sleep('1m')
      const startedAt = t.clock.now()
      const run = await web.trigger(look, null)
      await run.result()
      if (t.clock.now() > startedAt) throw new Error('it was late')
      const { id } = await worker.wait.createToken({ timeout: '1m' })
      const { createdAt } = await worker.wait.retrieveToken(id)
      if (createdAt.getTime() < startedAt) throw new Error('it was early')
    }
    const error = await rejection(exploreAll(body, { tasks: [look], maxDeviations: 1, ...options }))
    expect(error instanceof Error ? error.message : '').toMatch(told)
  })

  it('fail a replay the same way, with all that can happen to them', async () => {
    const body = shop((attempt) => {
      if (attempt > 2) throw new Error('it was executed three times')
    })
    const options = {
      tasks: [order],
      crashes: 'every-commit',
      pauses: 'every-commit',
      faults: ['lost', 'late'],
      clockSkewsMs: [5_000],
    } as const
    const error = await rejection(exploreAll(body, { ...options, decider: 'random' }))
    if (!(error instanceof ExplorationError)) throw error
    const again = await rejection(exploreAll(body, { ...options, replay: error.replay }))
    expect(again).toMatchObject({ trace: error.trace, invariant: error.invariant, replay: error.replay })
    if (!(again instanceof ExplorationError)) throw again
    const [story, other] = [await error.html(), await again.html()].map((page) => page.split('</header>')[1])
    expect(other).toBe(story)
  })

  it('are named in the story of a failure', async () => {
    const body = shop((attempt) => {
      if (attempt > 1) throw new Error('it was executed again')
    })
    const error = await rejection(exploreAll(body, { ...one, pauses: 'every-commit' }))
    const message = error instanceof Error ? error.message : ''
    expect(message).toContain('web triggers order')
    expect(message).toContain('order starts on worker-1')
    expect(message).toContain('worker-1 stands still before it, for longer than its lease')
    expect(message).toContain('order (attempt 2) starts on worker-2')
  })
})
