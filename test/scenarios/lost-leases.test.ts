import { describe, expect, it } from 'vitest'
import { once, task, wait } from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { createEngineOn } from '../../src/core/engine.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { observedStorage } from '../../src/testing/storages/observed.ts'
import { type StorageOperation, wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { isInMemory, projectStorage } from '../support/abandon.ts'
import { turnClock } from '../support/turn-clock.ts'

const LEASE_MS = 30_000
const MINUTE_MS = 60_000
const OTHER = 'other'

/** One storage call of an engine that takes longer than its lease. */
interface SlowCall {
  readonly index: number
  /** Whether storage does it late, or only answers late. */
  readonly late: 'done' | 'answered'
  /** Whether the engine hears before that it has lost its lease. */
  readonly isNoticed: boolean
}

interface World {
  readonly status: string | undefined
  readonly output: string | undefined
  /** The names of the storage calls, in their order. */
  readonly calls: readonly StorageOperation[]
}

/** A run that waits for a token, for two children and for a sleep, in an engine that loses its lease once and is then alone. */
async function live(slow?: SlowCall): Promise<World> {
  const clock = turnClock()
  const storage = projectStorage()
  const calls: StorageOperation[] = []
  const released = createDeferred<undefined>()
  const seen = { isTriggered: false, isReached: false }
  const near = isInMemory() ? storage : observedStorage(storage, clock)
  const steered = wrapStorage(near, (name, operation) => (...args) => {
    if (!seen.isTriggered) return operation(...args)
    const index = calls.push(name) - 1
    if (index !== slow?.index) return operation(...args)
    seen.isReached = true
    return (async () => {
      if (slow.late === 'done') await released.promise
      const answer = await operation(...args)
      await released.promise
      return answer
    })()
  })
  const nap = async (ms: number): Promise<void> =>
    new Promise((resolve) => void clock.setTimer(clock.now() + ms, resolve))
  const part = task({
    id: 'part',
    run: async (minutes: number) => {
      await nap(minutes * MINUTE_MS)
      return minutes
    },
  })
  const whole = task({
    id: 'whole',
    run: async () => {
      const token = await wait.createToken({ timeout: '1d' })
      const answers = await Promise.all([
        wait.forToken<number>(token).unwrap(),
        part.triggerAndWait(1).unwrap(),
        part.triggerAndWait(2).unwrap(),
      ])
      const effect = await once('effect', () => 4)
      await wait.for({ minutes: 1 })
      return [...answers, effect]
    },
  })
  const tick = { owner: OTHER, leaseUntil: clock.now() + 1e9, endless: false, census: false, limit: 0 }
  await storage.open()
  await storage.tick({ ...tick, now: clock.now() })
  const engine = createEngineOn(
    { clock, storage: steered, random: seededRandom(1) },
    { tasks: [whole, part], leaseMs: LEASE_MS, retention: { maxAge: '999d' } },
  )
  await engine.ready()
  const { id } = await engine.trigger(whole, undefined)
  seen.isTriggered = true
  let isOver = false
  for (let left = 20; left > 0; left -= 1) {
    await clock.settle()
    if (seen.isReached && !isOver) {
      isOver = true
      clock.pass(LEASE_MS + 1)
      await storage.tick({ ...tick, now: clock.now() })
      await storage.leave({ owner: OTHER, now: clock.now() })
      if (slow?.isNoticed === true) await clock.settle()
      released.resolve(undefined)
    }
    const now = clock.now()
    const { records } = await storage.tokens.list({ kind: 'MANUAL', status: ['WAITING'] }, { limit: 9 }, now)
    for (const token of records)
      await storage.tokens.settle({ id: token.id, outputJson: '3', by: OTHER, now })
    await clock.advance(MINUTE_MS)
  }
  const record = await storage.runs.get(id)
  await engine.close()
  return { status: record?.status, output: record?.outputJson, calls }
}

describe('an engine that loses its lease while a call is out', () => {
  it('comes to the end of every run all the same, whichever call it was', async () => {
    const { calls, ...ended } = await live()
    expect(ended).toEqual({ status: 'COMPLETED', output: '[3,1,2,4]' })
    const stuck: unknown[] = []
    for (const [index, name] of calls.entries()) {
      // They are no calls of a run, and the engine leaves when it is closed.
      if (name === 'tick' || name === 'leave') continue
      for (const late of ['done', 'answered'] as const) {
        for (const isNoticed of [false, true]) {
          const { status, output } = await live({ index, late, isNoticed })
          if (status !== 'COMPLETED' || output !== '[3,1,2,4]')
            stuck.push({ index, name, late, isNoticed, status, output })
        }
      }
    }
    expect(stuck).toEqual([])
  })
})
