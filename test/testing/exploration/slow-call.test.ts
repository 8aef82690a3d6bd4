import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { type Body, ExplorationError, explore, type ExploreOptions } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { oversold } from '../planted/oversold.ts'
import { staleCache } from '../planted/stale-cache.ts'
import { exploreAll } from './bodies.ts'

async function failure(body: Body, options: ExploreOptions = {}): Promise<ExplorationError> {
  const error = await rejection(exploreAll(body, options))
  if (error instanceof ExplorationError) return error
  throw error
}

/** The steps of a flow, each as it happens, beside a slow one. */
function beside(
  flow: (t: Parameters<Body>[0], note: (what: string) => void) => Promise<unknown>,
  seen: string[],
): Body {
  return async (t) => {
    seen.length = 0
    const note = (what: string): void => void seen.push(what)
    await Promise.all([t.step('slow', () => note('slow')), flow(t, note)])
  }
}

async function seenIn(take: string, flow: Parameters<typeof beside>[0]): Promise<readonly string[]> {
  const seen: string[] = []
  await exploreAll(beside(flow, seen), { replay: `v1|slow@body/slow#1>${take}` })
  return seen
}

describe('a slow call', () => {
  const flow: Parameters<typeof beside>[0] = async (t, note) => {
    for (const step of ['a', 'b']) await t.step(step, () => note(step))
    for (const minute of [1, 2, 3]) {
      await t.clock.sleep('1m')
      await t.step(`minute ${minute}`, () => note(`minute ${minute}`))
    }
  }

  it('is held until nothing else is left to do at its instant', async () => {
    expect(await seenIn('instant', flow)).toEqual(['a', 'b', 'slow', 'minute 1', 'minute 2', 'minute 3'])
  })

  it('is held over one timer, and all that it leads to at its instant', async () => {
    // A timer that is set before the call is decided.
    const timed: typeof flow = async (t, note) => Promise.all([flow(t, note), t.clock.sleep('1m')])
    expect(await seenIn('timer', timed)).toEqual(['a', 'b', 'minute 1', 'slow', 'minute 2', 'minute 3'])
  })

  it('is held to the end', async () => {
    // Two timers, so that the end is another one than the next timer.
    const long: typeof flow = async (t, note) =>
      Promise.all([flow(t, note), t.clock.sleep('1h'), t.clock.sleep('2h')])
    const seen = await seenIn('end', long)
    expect(seen).toEqual(['a', 'b', 'minute 1', 'minute 2', 'minute 3', 'slow'])
  })

  it('goes on at some time where a loop looks for its effect', async () => {
    let looks = 0
    const body: Body = async (t) => {
      const seen = new Set<string>()
      const set = t.step('set', () => void seen.add('set'))
      const late = t.clock.sleep('1h')
      for (looks = 0; !seen.has('set'); looks += 1) await t.clock.sleep('1s')
      await Promise.all([set, late])
    }
    await exploreAll(body, { replay: 'v1|slow@body/set#1>end' })
    expect(looks).toBeGreaterThan(3)
    expect(looks).toBeLessThan(20)
    expect((await exploreAll(body)).complete).toBe(true)
  })

  it('may be that of a run, whose time passes', async () => {
    const work = task({ id: 'work', run: async () => wait.for({ seconds: 1 }) })
    let took = 0
    const body: Body = async (t) => {
      const from = t.clock.now()
      const run = await t.engine.trigger(work, null)
      const ended = run.result().then(() => void (took = t.clock.now() - from))
      await Promise.all([ended, t.clock.sleep('1h'), t.clock.sleep('2h')])
    }
    await exploreAll(body, { tasks: [work], replay: 'v1|slow@work/tokens.insert#1>end' })
    expect(took).toBe(7_200_000)
  })

  it('is not held over a timer while a run is busy with real I/O', async () => {
    const turn = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
    let now = (): number => 0
    const work = task({
      id: 'work',
      run: async () => {
        for (let turns = 0; turns < 20; turns++) await turn()
        return now()
      },
    })
    let took = -1
    const body: Body = async (t) => {
      now = () => t.clock.now()
      const from = t.clock.now()
      const run = await t.engine.trigger(work, null)
      const [, end] = await Promise.all([t.step('slow'), run.result(), t.clock.sleep('1h')])
      took = end - from
    }
    await exploreAll(body, { tasks: [work], replay: 'v1|slow@body/slow#1>timer' })
    expect(took).toBe(0)
  })

  it('dies with its process', async () => {
    let charges = 0
    const pay = task({
      id: 'pay',
      run: async (_payload: null, { ctx }) => {
        if (ctx.attempt.number === 1) await charge()
      },
    })
    let charge = async (): Promise<void> => undefined
    const body: Body = async (t) => {
      charges = 0
      charge = async () => t.step('charge', () => void (charges += 1))
      const run = await t.engine.trigger(pay, null)
      await t.clock.sleep('1s')
      t.crash()
      await run.result()
    }
    await exploreAll(body, { tasks: [pay], replay: 'v1|slow@pay/charge#1>timer' })
    expect(charges).toBe(0)
  })

  it('finds in a few schedules what many departures would take, and is told', async () => {
    const error = await failure(staleCache.body)
    expect(error.run).toBeLessThan(20)
    expect(error.replay).toBe('v1|slow@show/fill the cache#1>instant')
    expect(error.message).toContain(
      '▶ 0ms       show: fill the cache, slow: held until nothing else was left to do',
    )
    const late = await failure(oversold.body)
    expect(late.replay).toBe('v1|slow@buy/take one#1>timer')
    expect(late.message).toContain('▶ 10m       buy: take one, slow: held until the wait of buy~2 is over')
    expect(await failure(oversold.body, { replay: late.replay })).toMatchObject({ replay: late.replay })
  })

  it('is told by its labels, too', async () => {
    const { message } = await failure(oversold.body, { adapter: (storage) => storage })
    expect(message).toMatch(/▶ 10m {7}buy\/take one#1, slow: held until (?:time|engine)\//)
  })

  it('fails a replay in which it cannot be slow', async () => {
    const alone: Body = async (t) => t.step('alone')
    const { message, invariant } = await failure(alone, { replay: 'v1|slow@body/alone#1>timer' })
    expect(invariant).toBe('the replay applies')
    expect(message).toContain(
      'body/alone#1 is slow, held over the next timer: no call was out while anything else',
    )
  })

  it('makes the same schedules each time', async () => {
    const runs = async (): Promise<readonly string[]> => {
      const all: string[] = []
      await explore(
        async (t) => {
          const order: string[] = []
          await Promise.all(['a', 'b', 'c'].map((name) => t.step(name, () => void order.push(name))))
          all.push(order.join(''))
        },
        { budget: { ms: Infinity } },
      )
      return all
    }
    expect(await runs()).toEqual(await runs())
  })
})
