import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { type Body, type ExploreOptions } from 'waitpoint/testing'
import { allAnswer, exploreAll } from './bodies.ts'
import { bruteForce } from './brute-force.ts'

/** A sleep beside a step in the outside world, in a run and in its body. */
const nap: Body = async (t) => {
  const work = task({
    id: 'nap',
    run: async (_payload: null, { wait }) => {
      await Promise.all([wait.for({ seconds: 1 }), t.step('look out of the window')])
      return t.clock.now()
    },
  })
  t.use(work)
  const run = await t.engine.trigger(work, null)
  await Promise.all([run.outcome(), t.clock.sleep('1s'), t.step('call')])
}

/** A run that waits for another one. */
const family: Body = async (t) => {
  const child = task({ id: 'child', run: (n: number) => n + 1 })
  const parent = task({ id: 'parent', run: (n: number) => child.triggerAndWait(n).unwrap() })
  t.use(child, parent)
  const run = await t.engine.trigger(parent, 1)
  if ((await run.result()) !== 2) throw new Error('wrong')
}

const bodies: readonly (readonly [name: string, body: Body, options: ExploreOptions])[] = [
  ['an approval', allAnswer(['ada']), { maxDeviations: 2 }],
  ['an approval that may crash', allAnswer(['ada']), { maxDeviations: 1, crashes: 'every-commit' }],
  ['a sleep with answers that come late', nap, { maxDeviations: 2, faults: ['late'] }],
  ['a run that waits for another one', family, { maxDeviations: 2 }],
]

describe('enumerate', () => {
  it.each(bodies)(
    'runs as many schedules as counting through all of them finds: %s',
    async (_name, body, options) => {
      const ours = await exploreAll(body, options)
      const theirs = await exploreAll(body, { ...options, decider: bruteForce(options.maxDeviations ?? 0) })
      expect(ours.complete).toBe(true)
      expect(ours.runs).toBe(theirs.runs)
      expect(ours.runs).toBeGreaterThan(10)
    },
  )

  it('begins with the schedule in which everything goes in order, then those with one deviation', async () => {
    expect(await exploreAll(allAnswer(['ada']), { maxDeviations: 0 })).toMatchObject({
      runs: 1,
      complete: true,
      deepest: 0,
    })
    const { runs } = await exploreAll(allAnswer(['ada']), { maxDeviations: 1 })
    const cut = await exploreAll(allAnswer(['ada']), { maxDeviations: 2, budget: { runs } })
    expect(cut).toMatchObject({ runs, complete: false, deepest: 1 })
  })
})
