import { queryObjects } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, wait } from 'waitpoint'
import { testClock } from 'waitpoint/testing'
import { Place } from '../../src/core/attempt/places.ts'
import { Waiter } from '../../src/core/waits/waiter.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'

const ROUNDS = 200

/** The classes of what an engine has in memory for each wait. */
type Held = typeof Waiter | typeof Place

/** How many instances are in memory, after garbage was collected. */
function count(held: Held): number {
  return queryObjects(held, { format: 'count' })
}

/** How many more instances there are at the end of a run that makes `round` again and again than after half of its rounds. */
async function growth(
  held: Held,
  round: () => Promise<unknown>,
): Promise<{ readonly more: number; readonly waits: number }> {
  const storage = projectStorage()
  let before = 0
  const loop = bodyTask(async ({ ctx }) => {
    for (let index = 0; index < ROUNDS; index += 1) {
      if (index === ROUNDS / 2) before = count(held)
      await round()
    }
    return { more: count(held) - before, waits: (await storage.runs.waits(ctx.run.id)).length }
  })
  await using engine: Engine = createEngine({ tasks: [loop], storage, clock: testClock({ mode: 'auto' }) })
  return await (await engine.trigger(loop, null)).result()
}

describe('a run that loops for ever', () => {
  it('holds nothing of the waits that are over', async () => {
    const { more, waits } = await growth(Place, () => wait.for({ seconds: 1 }))
    // Fewer, if what other tests have left behind was collected meanwhile.
    expect(more).toBeLessThan(5)
    expect(waits).toBe(0)
  })

  it('holds nothing of the tokens that it has stopped to wait for, by their signals', async () => {
    const round = async (): Promise<void> => {
      const loser = new AbortController()
      const token = await wait.createToken({ timeout: '30d' })
      const answer = wait.forToken(token, { signal: loser.signal })
      answer.catch(() => undefined)
      await Promise.race([answer, wait.for({ seconds: 1 })])
      loser.abort()
    }
    const { more, waits } = await growth(Waiter, round)
    expect(more).toBeLessThan(5)
    expect(waits).toBeLessThan(2)
  })
})
