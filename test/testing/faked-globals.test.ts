import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/define-task.ts'
import type { Task } from '../../src/core/task.ts'
import { createTestEngine } from '../../src/testing/create-test-engine.ts'

const START = Date.UTC(2000, 0, 1)
const real = { Date, random: Math.random, setTimeout: globalThis.setTimeout, clearTimeout }

function currentGlobals(): typeof real {
  return { Date, random: Math.random, setTimeout: globalThis.setTimeout, clearTimeout }
}

/** A task that runs `body`, which sees the globals as task code does. */
function taskOf<Output>(body: () => Output | Promise<Output>): Task<null, Output> {
  return task({ id: 'body', run: async (_payload: null) => body() })
}

const later = (ms: number): Promise<void> => new Promise((resolve) => void globalThis.setTimeout(resolve, ms))

describe('fakeGlobals', () => {
  it('shows task code the time of the clock', async () => {
    const body = taskOf(async () => {
      const before = [Date.now(), new Date().getTime(), Date().slice(0, 15)]
      await later(3_600_000)
      return [...before, Date.now(), new Date(0).getTime(), new Date() instanceof Date, Date.UTC(2000, 0, 1)]
    })
    await using t = await createTestEngine({ tasks: [body], fakeGlobals: true })
    const expected = new real.Date(START).toString().slice(0, 15)
    expect(await (await t.engine.trigger(body, null)).result()).toEqual([
      ...[START, START, expected, START + 3_600_000, 0, true, START],
    ])
    expect(t.clock.now()).toBe(START + 3_600_000)
  })

  it('gives task code the same chance for the same seed', async () => {
    const body = taskOf(() => [Math.random(), Math.random()])
    const roll = async (seed: number): Promise<number[]> => {
      await using t = await createTestEngine({ tasks: [body], fakeGlobals: true, seed })
      return await (await t.engine.trigger(body, null)).result()
    }
    expect(await roll(1)).toEqual(await roll(1))
    expect(await roll(1)).not.toEqual(await roll(2))
  })

  it('leaves all other code alone, also while a task runs', async () => {
    const body = taskOf(() => later(60_000))
    await using t = await createTestEngine({ tasks: [body], fakeGlobals: true })
    const run = await t.engine.trigger(body, null)
    const before = real.Date.now()
    await later(1)
    expect(Date.now()).toBeGreaterThanOrEqual(before)
    expect(Date.now()).toBeLessThanOrEqual(real.Date.now())
    expect(new Date().getTime()).toBeGreaterThanOrEqual(before)
    expect(new Set(Array.from({ length: 5 }, () => Math.random())).size).toBe(5)
    await run.result()
  })

  it('puts back what was there when the last engine that asked for it closes', async () => {
    const one = await createTestEngine({ fakeGlobals: true })
    const other = await createTestEngine({ fakeGlobals: true })
    await one.close()
    expect(Date).not.toBe(real.Date)
    await other.close()
    expect(currentGlobals()).toEqual(real)
    expect(Date).toBe(real.Date)
    await using plain = await createTestEngine()
    expect(plain.engine).toBeDefined()
    expect(Date).toBe(real.Date)
  })

  it('keeps the worlds of engines apart', async () => {
    const body = taskOf(() => Date.now())
    await using one = await createTestEngine({ tasks: [body], fakeGlobals: true, clock: { start: 1_000 } })
    await using other = await createTestEngine({ tasks: [body], fakeGlobals: true, clock: { start: 2_000 } })
    await using without = await createTestEngine({ tasks: [body] })
    const now = async ({ engine }: typeof one): Promise<number> => (await engine.trigger(body, null)).result()
    expect(await Promise.all([now(one), now(other)])).toEqual([1_000, 2_000])
    expect(await now(without)).toBeGreaterThan(START)
  })

  it('fires timeouts in order with their arguments, and no cleared one', async () => {
    const body = taskOf(async () => {
      const log: string[] = []
      const canceled = globalThis.setTimeout(() => log.push('canceled'), 1)
      globalThis.setTimeout((name: string) => log.push(name), 20, 'second')
      globalThis.setTimeout(() => log.push('first'), 10).unref()
      const moved = globalThis.setTimeout(() => log.push(`third at ${Date.now() - START}`), 15)
      clearTimeout(canceled)
      await promisify(globalThis.setTimeout)(5)
      moved.refresh()
      expect(moved.hasRef()).toBe(true)
      await later(20)
      return log
    })
    await using t = await createTestEngine({ tasks: [body], fakeGlobals: true })
    expect(await (await t.engine.trigger(body, null)).result()).toEqual(['first', 'second', 'third at 20'])
  })

  it('drops what a task has left behind', async () => {
    const log: string[] = []
    const body = taskOf(() => void globalThis.setTimeout(() => log.push('late'), 60_000))
    const t = await createTestEngine({ tasks: [body], fakeGlobals: true })
    await (await t.engine.trigger(body, null)).result()
    await t.close()
    expect(log).toEqual([])
  })
})
