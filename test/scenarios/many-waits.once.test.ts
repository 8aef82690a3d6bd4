import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunTools } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { WorkCount } from '../support/work-count.ts'

const work = await WorkCount.start()
// Loaded now: the turns of its loops are to be counted.
const { createEngine, memoryStorage, wait } = await import('waitpoint')
const { bodyTask } = await import('../support/body-task.ts')

const MANY = 4_000
/** How often any piece of the code is executed for each of them, at most: a walk over all for each is thousands of times. */
const MOST_EACH = 100

/** Tokens of the run, and its waits for them. */
async function waitForMany(tools: RunTools, waiting: (ids: readonly string[]) => void): Promise<number> {
  const ids: string[] = []
  for (let count = 0; count < MANY; count += 1)
    ids.push((await tools.wait.createToken({ timeout: '30d' })).id)
  const waits = ids.map((id) => wait.forToken(id))
  waiting(ids)
  return (await Promise.all(waits)).length
}

/** Each of them costs as much as if there were no others. */
async function expectNoWalks(): Promise<void> {
  const { times, where } = await work.busiest()
  expect(times, where).toBeLessThan(MOST_EACH * MANY)
}

describe('thousands of waits', () => {
  beforeEach(() => work.busiest())
  afterAll(() => work.stop())

  it('for one token end with the engine', async () => {
    const all = createDeferred<undefined>()
    let [token, count] = ['', 0]
    const ask = bodyTask(() => {
      const waiting = wait.forToken(token)
      if (++count === MANY) all.resolve(undefined)
      return waiting
    })
    const engine = createEngine({ tasks: [ask] })
    token = (await engine.wait.createToken()).id
    for (let index = 0; index < MANY; index += 1) await engine.trigger(ask, null)
    await all.promise
    await engine.close()
    expect(engine.stats()).toMatchObject({ attempts: 0, waits: 0 })
    await expectNoWalks()
  })

  it('of one run are dropped by one signal', async () => {
    const drop = new AbortController()
    const ask = bodyTask(async () => {
      const token = await wait.createToken()
      const forOne = Array.from({ length: MANY }, () => wait.forToken(token, { signal: drop.signal }))
      const sleeps = Array.from({ length: MANY }, () => wait.for({ days: 1, signal: drop.signal }))
      drop.abort(new Error('dropped'))
      const ends = await Promise.allSettled([...forOne, ...sleeps])
      return ends.filter(({ status }) => status === 'rejected').length
    })
    await using engine = createEngine({ tasks: [ask] })
    expect(await (await engine.trigger(ask, null)).result()).toBe(2 * MANY)
    await expectNoWalks()
  })

  it('of one run are settled by another engine, one by one', async () => {
    const waiting = createDeferred<readonly string[]>()
    const storage = memoryStorage()
    const ask = bodyTask((tools) => waitForMany(tools, waiting.resolve))
    await using engine = createEngine({ tasks: [ask], storage })
    await using other = createEngine({ storage })
    await other.ready()
    const run = await engine.trigger(ask, null)
    for (const id of (await waiting.promise).toReversed()) await other.wait.completeToken(id)
    expect(await run.result()).toBe(MANY)
    await expectNoWalks()
  })

  it('of a parked run without an engine are settled one by one', async () => {
    const waiting = createDeferred<readonly string[]>()
    const parked = createDeferred<undefined>()
    const storage = memoryStorage()
    const ask = bodyTask((tools) => waitForMany(tools, waiting.resolve))
    const engine = createEngine({ tasks: [ask], storage })
    engine.on('run', ({ status }) => {
      if (status === 'WAITING') parked.resolve(undefined)
    })
    await using other = createEngine({ storage })
    await other.ready()
    await engine.trigger(ask, null)
    const ids = await waiting.promise
    await parked.promise
    await engine.close()
    for (const id of ids.slice(0, MANY / 10)) await other.wait.completeToken(id)
    await using next = createEngine({ tasks: [ask], storage })
    await next.ready()
    for (const id of ids.slice(MANY / 10)) await other.wait.completeToken(id)
    const [run] = (await next.runs.list()).data
    expect(await next.runs.poll(run?.id ?? '')).toMatchObject({ output: MANY, attemptCount: 2 })
    await expectNoWalks()
  })
})
