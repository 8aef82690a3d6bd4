import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'

describe('an engine with few slots', () => {
  it('keeps hundreds of runs waiting without one, and lets them go on two at a time', async () => {
    let executing = 0
    let most = 0
    const order: number[] = []
    const review = task({
      id: 'review',
      run: async (n: number) => {
        const token = await wait.createToken({ timeout: '7d', tags: `review ${n}` })
        const { minutes } = await wait.forToken<{ minutes: number }>(token).unwrap()
        most = Math.max(most, (executing += 1))
        await t.clock.sleep(`${minutes}m`)
        executing -= 1
        order.push(n)
        return n
      },
    })
    await using t = await createTestEngine({ tasks: [review], concurrency: 2, clock: { mode: 'manual' } })
    const numbers = Array.from({ length: 300 }, (_, index) => index)
    const runs = await Promise.all(numbers.map((n) => t.engine.trigger(review, n)))
    await t.clock.settle()
    expect((await t.engine.runs.list({ status: 'WAITING', limit: 100 })).data).toHaveLength(100)
    expect(t.engine.stats()).toMatchObject({ attempts: 300, executing: 0, waits: 300 })

    const start = t.clock.now()
    for (const n of [...numbers].reverse()) {
      const [token] = (await t.engine.wait.listTokens({ tags: [`review ${n}`] })).data
      expect(await t.engine.wait.completeToken(token!, { minutes: 1 })).toMatchObject({ success: true })
    }
    expect(await t.clock.until(Promise.all(runs.map((run) => run.result())))).toEqual(numbers)
    expect(most).toBe(2)
    expect(t.clock.now() - start).toBe(150 * 60_000)
    // In the order of the answers, two at a time.
    expect(order[0]).toBeGreaterThanOrEqual(298)
    expect(order.at(-1)).toBeLessThanOrEqual(1)
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('runs a tree of tasks that wait for each other in a single slot', async () => {
    const tree = task({
      id: 'tree',
      queue: { concurrencyLimit: 1 },
      run: async (depth: number): Promise<number> => {
        if (depth === 0) return 1
        const { runs } = await tree.batchTriggerAndWait([{ payload: depth - 1 }, { payload: depth - 1 }])
        return runs.reduce((sum, run) => sum + (run.ok ? run.output : Number.NaN), 1)
      },
    })
    await using t = await createTestEngine({ tasks: [tree], concurrency: 1 })
    expect(await (await t.engine.trigger(tree, 5)).result()).toBe(63)
    await t.clock.settle()
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })
})
