import { describe, expect, it } from 'vitest'
import { createEngine, task, type Task, wait } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine } from 'waitpoint/testing'
import type { Clock } from '../../src/contract/clock.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { memoryOfProject, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { impatientClock } from '../support/impatient-clock.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { microtasksUntil, until } from '../support/turn.ts'

/**
 * The order in which runs with these priorities go on in one slot, if their answers come in this order while it is taken, each
 * so long after the one before.
 */
async function orderOf(priorities: readonly number[], pause = '0s'): Promise<readonly number[]> {
  const order: number[] = []
  const work = task({
    id: 'work',
    run: async (token: string, { ctx }) => {
      if (token !== '') {
        await wait.forToken(token)
        order.push(ctx.run.priority ?? 0)
      }
      await t.clock.sleep('1m')
    },
  })
  await using t = await createTestEngine({ tasks: [work], concurrency: 1, clock: { mode: 'manual' } })
  const tokens: string[] = []
  for (const priority of priorities) {
    const { id } = await t.engine.wait.createToken({ timeout: '1d' })
    tokens.push(id)
    await t.engine.trigger(work, id, { priority })
    await t.clock.settle()
  }
  await t.engine.trigger(work, '')
  await t.clock.settle()
  for (const token of tokens) {
    await t.engine.wait.completeToken(token)
    await t.clock.advance(pause)
  }
  await t.clock.advance('1h')
  return order
}

/** Runs in one slot that sleep for a second and work for a second, for minutes: some can always go on. */
function pollers(clock: () => TestClock, queue: { readonly name: string }): Task<null, void> {
  return task({
    id: 'poller',
    queue,
    run: async (_payload: null) => {
      for (let round = 0; round < 60; round += 1) {
        await wait.for({ seconds: 1, name: `pause ${round}` })
        await clock().sleep('1s')
      }
    },
  })
}

interface Crowd {
  readonly t: TestEngine
  /** When the run that was answered has gone on, in milliseconds from its answer. */
  readonly wentOn: readonly number[]
  /** When a run that was triggered after the others has begun, in milliseconds from then. */
  readonly begun: readonly number[]
  /** Gives the run its answer. */
  readonly answer: () => Promise<{ readonly id: string }>
  /** Triggers a new run. */
  readonly add: () => Promise<void>
}

/** A run waits for its answer, and four others keep the one slot busy. `key` is that of the one that waits. */
async function inCrowd(body: (crowd: Crowd) => Promise<void>, key?: string): Promise<void> {
  const [wentOn, begun]: [number[], number[]] = [[], []]
  let since = 0
  const poller = pollers(() => t.clock, { name: 'shared' })
  const asking = task({
    id: 'asking',
    queue: { name: key === undefined ? 'own' : 'shared' },
    run: async (token: string) => {
      await wait.forToken(token)
      wentOn.push(t.clock.now() - since)
    },
  })
  const late = task({ id: 'late', run: async (_payload: null) => void begun.push(t.clock.now() - since) })
  const t = await createTestEngine({
    tasks: [poller, asking, late],
    concurrency: 1,
    clock: { mode: 'manual' },
    storage: projectStorage(),
  })
  await using _ = t
  const token = await t.engine.wait.createToken({ timeout: '30d' })
  const run = await t.engine.trigger(asking, token.id, {
    priority: 1_000,
    ...(key === undefined ? {} : { concurrencyKey: key }),
  })
  await t.clock.settle()
  for (let count = 0; count < 4; count += 1) await t.engine.trigger(poller, null)
  await t.clock.advance('10500ms')
  const crowd: Crowd = {
    t,
    wentOn,
    begun,
    answer: async () => {
      since = t.clock.now()
      await t.engine.wait.completeToken(token)
      return run
    },
    add: async () => {
      since = t.clock.now()
      await t.engine.trigger(late, null)
    },
  }
  await body(crowd).finally(() => t.clock.advance('10m'))
}

describe('runs that can go on', () => {
  it('go on in the order of their answers, if they are of one priority', async () => {
    expect(await orderOf([0, 0, 0])).toEqual([0, 0, 0])
  })

  it('go on by their priority first', async () => {
    expect(await orderOf([0, 100, 50])).toEqual([100, 50, 0])
  })

  it('go on before one of a higher priority whose answer came later by more than that', async () => {
    expect(await orderOf([0, 10], '20s')).toEqual([0, 10])
  })

  it('go on after one of a higher priority whose answer came later by less than that', async () => {
    expect(await orderOf([0, 30], '20s')).toEqual([30, 0])
  })

  it('go on before new ones', async () => {
    const order: string[] = []
    const work = task({
      id: 'work',
      run: async ({ name, token }: { readonly name: string; readonly token?: string }) => {
        if (token !== undefined) await wait.forToken(token)
        order.push(name)
        await t.clock.sleep('1m')
      },
    })
    await using t = await createTestEngine({ tasks: [work], concurrency: 1, clock: { mode: 'manual' } })
    const token = await t.engine.wait.createToken({ timeout: '1d' })
    await t.engine.trigger(work, { name: 'asking', token: token.id })
    await t.clock.settle()
    for (const name of ['first', 'second', 'third']) await t.engine.trigger(work, { name })
    await t.clock.settle()
    await t.engine.wait.completeToken(token)
    await t.clock.advance('1h')
    expect(order).toEqual(['first', 'asking', 'second', 'third'])
  })

  it.each([
    ['another queue', undefined],
    ['another key of the queue', 'key'],
  ])('are not kept from the slot by those of %s', async (_name, key) => {
    await inCrowd(async ({ t, answer, wentOn }) => {
      await answer()
      await t.clock.advance('1m')
      // Of four that stood in line before it each has had the slot for a second.
      expect(wentOn).toHaveLength(1)
      expect(wentOn[0]).toBeLessThanOrEqual(10_000)
    }, key)
  })

  it('are told by explain what then happens', async () => {
    await inCrowd(async ({ t, answer, wentOn }) => {
      const { sentence } = await t.engine.runs.explain(await answer())
      const isNext = sentence.includes('with the next free slot')
      // The work that has the slot ends within a second.
      await t.clock.advance('1s')
      expect(wentOn.length).toBe(isNext ? 1 : 0)
    })
  })

  it('leave one slot in eight to new runs', async () => {
    await inCrowd(async ({ t, add, begun }) => {
      await add()
      await t.clock.advance('1m')
      expect(begun).toHaveLength(1)
    })
  })

  it('are not parked when their answers come before the event loop was at rest', async () => {
    const { storage, calls } = steeredStorage(memoryOfProject())
    const tokens: string[] = []
    const ask = bodyTask(async () => {
      const token = await wait.createToken()
      tokens.push(token.id)
      return wait.forToken(token).unwrap()
    })
    await using engine = createEngine({ tasks: [ask], storage, clock: impatientClock(4) })
    const runs = await Promise.all(Array.from({ length: 300 }, () => engine.trigger(ask, null)))
    await until(() => tokens.length === 300)
    await Promise.all(tokens.map((token) => engine.wait.completeToken(token)))
    await Promise.all(runs.map((run) => run.result()))
    expect(calls.filter((name) => name === 'runs.park').length).toBe(0)
  })
})

describe('runs that wait for a turn of the event loop to go on', () => {
  it('have the slots all the same, but for one in eight', async () => {
    let isTurnDue = false
    const clock: Clock = { ...impatientClock(Infinity), isTurnDue: () => isTurnDue }
    const [tokens, begun, over] = [Array<string>(), Array<string>(), createDeferred<undefined>()]
    const go = (name: string): Promise<undefined> => {
      begun.push(name)
      return over.promise
    }
    const ask = bodyTask(async () => {
      const token = await wait.createToken({ timeout: '1h' })
      tokens.push(token.id)
      await wait.forToken(token)
      await go('old')
    })
    const fresh = task({ id: 'fresh', run: async (_payload: null) => go('new') })
    const tasks = [ask, fresh]
    await using engine = createEngine({ tasks, storage: memoryOfProject(), clock, concurrency: 32 })
    for (let run = 0; run < 32; run += 1) await engine.trigger(ask, null)
    await until(() => engine.stats().waiting === 32)
    let settled = 0
    engine.on('token', ({ status }) => (settled += status === 'COMPLETED' ? 1 : 0))
    isTurnDue = true
    const triggered = Array.from({ length: 64 }, () => engine.trigger(fresh, null))
    await Promise.resolve()
    const completed = tokens.map((token) => engine.wait.completeToken(token))
    await microtasksUntil(() => settled === 32)
    isTurnDue = false
    await Promise.all([...triggered, ...completed])
    await until(() => begun.length === 32)
    expect(begun.filter((name) => name === 'old').length).toBeGreaterThanOrEqual(28)
    over.resolve(undefined)
    // What was left for a claim is claimed.
    await until(() => begun.length === 96)
  })
})

describe('an engine that drains', () => {
  it('gives no slot to a claim that it does not make', async () => {
    let rounds = 0
    const queue = { name: 'full', concurrencyLimit: 1 }
    const long = task({ id: 'long', queue, run: async (_payload: null) => t.clock.sleep('2m') })
    const poller = bodyTask(async () => {
      for (;;) {
        await wait.for({ seconds: 1 })
        rounds += 1
        await t.clock.sleep('1s')
      }
    })
    const tasks = [long, poller]
    await using t = await createTestEngine({ tasks, concurrency: 2, clock: { mode: 'manual' } })
    // The second one stays in its queue: there is always more to claim.
    for (const one of [long, long, poller, poller, poller]) await t.engine.trigger(one, null)
    await t.clock.advance('30s')
    const before = rounds
    const closed = t.engine.close({ drainMs: '90s' })
    await t.clock.advance('1m')
    expect(rounds - before).toBeGreaterThan(20)
    await t.clock.advance('1m')
    await closed
  })
})
