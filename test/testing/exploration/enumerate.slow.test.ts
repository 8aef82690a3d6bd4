import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { type Body, type Decider, enumerate, type ExploreOptions } from 'waitpoint/testing'
import { oversold } from '../planted/oversold.fixed.ts'
import { staleCache } from '../planted/stale-cache.fixed.ts'
import { allAnswer, exploreAll } from './bodies.ts'
import { bruteForce } from './brute-force.ts'
import { each } from './each-schedule.ts'

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

type Steps = NonNullable<Parameters<NonNullable<Decider['end']>>[1]>

/** All that code outside of the engine could tell of a schedule: the steps in order, with their answers. */
function observed(steps: Steps): string {
  const told = steps.flatMap(({ now, label, event, call }) => {
    const answer = JSON.stringify(call?.answer)
    return event === undefined && OF_NO_INTEREST.test(`${label} ${answer}`)
      ? []
      : // How often an engine has claimed before is its own business.
        [[now, label.replace(/runs\.claim#\d+$/, 'runs.claim'), event, answer].join(' ')]
  })
  return told.join('\n')
}

/**
 * A claim that finds no run, a tick that finds nothing, the timers for these, the token of a sleep, a wait that is only registered,
 * and one that is given up.
 */
const OF_NO_INTEREST = new RegExp(
  [
    'runs\\.claim#\\d+ {"runs":\\[\\],"ended":\\[\\]',
    'tick#\\d+ {"alive":true,"ready":\\[\\],"settled":\\[\\],"expired":\\[\\],"claimable":false',
    '^time/(a look at what is due|leases, for|deadline of)',
    'tokens\\.insert#\\d+ {"record":{"id":"sleep_',
    'tokens\\.await#.*"registered"',
    'tokens\\.release',
  ].join('|'),
)

/** All that is observed in the schedules of a decider, and their number. */
async function observedBy(decider: Decider, body: Body, options: ExploreOptions) {
  const all = new Set<string>()
  const noting: Decider = {
    isExhaustive: decider.isExhaustive,
    begin: () => decider.begin(),
    end: (decisions, steps = []) => {
      all.add(observed(steps))
      decider.end?.(decisions, steps)
    },
  }
  const { runs } = await exploreAll(body, { ...options, decider: noting, budget: { runs: Infinity } })
  return { all, runs }
}

describe('enumerate', () => {
  it.each(bodies)(
    'runs as many schedules as counting through all of them finds, if it skips none: %s',
    async (_name, body, options) => {
      const most = options.maxDeviations ?? 0
      const ours = await exploreAll(body, { ...options, decider: each(enumerate(most)) })
      const theirs = await exploreAll(body, { ...options, decider: each(bruteForce(most)) })
      expect(ours.complete).toBe(true)
      expect(ours.runs).toBe(theirs.runs)
      expect(ours.runs).toBeGreaterThan(10)
    },
  )

  it.each([
    ...bodies.filter(([, , { maxDeviations = 0 }]) => maxDeviations > 1),
    ['an approval, with a third departure', allAnswer(['ada']), { maxDeviations: 3 }] as const,
    ['two answers', allAnswer(['ada', 'bob']), { maxDeviations: 2 }] as const,
    ['two crashes', allAnswer(['ada']), { maxDeviations: 2, crashes: 'every-commit' }] as const,
    ['two runs that sleep', oversold.body, { maxDeviations: 2 }] as const,
    ['two runs with steps outside', staleCache.body, { maxDeviations: 2 }] as const,
  ])('skips only schedules that no code could tell from others: %s', async (_name, body, options) => {
    const most = options.maxDeviations ?? 0
    const ours = await observedBy(enumerate(most), body, options)
    const theirs = await observedBy(each(enumerate(most)), body, options)
    expect([...theirs.all].filter((one) => !ours.all.has(one))).toEqual([])
    // Slow calls are among ours.
    expect(ours.runs).toBeLessThanOrEqual(theirs.runs)
  })

  it.each([
    ['two runs that sleep', oversold.body] as const,
    ['two runs with steps outside', staleCache.body] as const,
  ])('runs no schedule twice, slow calls included: %s', async (_name, body) => {
    const schedules: string[] = []
    const all = enumerate(2)
    const noting: Decider = {
      ...all,
      begin: () => all.begin(),
      end: (decisions, steps = []) => {
        schedules.push(steps.map(({ now, label }) => `${now} ${label}`).join())
        all.end?.(decisions, steps)
      },
    }
    await exploreAll(body, { decider: noting })
    expect(new Set(schedules).size).toBe(schedules.length)
  })

  it('skips nothing where an adapter hears of each call', async () => {
    const options: ExploreOptions = { adapter: (storage) => storage }
    const ours = await observedBy(enumerate(2), allAnswer(['ada']), options)
    const theirs = await observedBy(each(enumerate(2)), allAnswer(['ada']), options)
    expect(ours.runs).toBeGreaterThanOrEqual(theirs.runs)
  })

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
