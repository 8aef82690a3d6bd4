import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { openDriver, temporaryFolder } from './drivers.ts'

const DEBOUNCE = { debounce: { key: 'k', delay: '5s', mode: 'trailing' } } as const

describe('debounce of two engines on one SQLite file', () => {
  it('makes one run of their triggers, which one of them executes once, with what came last', async () => {
    using folder = temporaryFolder()
    await using clock = testClock({ mode: 'manual' })
    const executed: unknown[] = []
    const index = task({ id: 'index', run: (payload: number) => void executed.push([payload, clock.now()]) })
    const path = folder.file('a.db')
    const start = (seed: string): Promise<TestEngine> =>
      createTestEngine({ storage: sqliteStorage(openDriver(path)), clock, seed, tasks: [index] })
    await using one = await start('one')
    await using two = await start('two')

    const triggers = [one, two].map(async ({ engine }, at) => engine.trigger(index, at, DEBOUNCE))
    const [first, second] = await Promise.all(triggers)
    expect([first?.id === second?.id, first?.isCached, second?.isCached].filter(Boolean)).toHaveLength(2)
    for (const [engine, payload] of [
      [one, 2],
      [two, 3],
      [one, 4],
      [two, 5],
    ] as const) {
      await clock.advance('4s')
      expect((await engine.engine.trigger(index, payload, DEBOUNCE)).id).toBe(first?.id)
    }
    const dueAt = clock.now() + 5_000
    await clock.advance(4_999)
    expect(executed).toEqual([])
    await clock.advance('1s')
    await Promise.all([one, two].map(({ engine }) => engine.runs.poll(first?.id ?? '')))
    expect(executed).toEqual([[5, dueAt]])
    expect((await two.engine.trigger(index, 6, DEBOUNCE)).id).not.toBe(first?.id)
  })
})
