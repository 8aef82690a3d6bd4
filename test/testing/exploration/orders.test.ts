import { describe, expect, it } from 'vitest'
import { type Body, type Decider, parseTrace, replay as replayOf } from 'waitpoint/testing'
import { oversold } from '../planted/oversold.fixed.ts'
import { staleCache } from '../planted/stale-cache.fixed.ts'
import { allAnswer, exploreAll } from './bodies.ts'

/** Two steps side by side, three times. */
const sides: Body = async (t) => {
  for (const round of [1, 2, 3]) await Promise.all([t.step(`left ${round}`), t.step(`right ${round}`)])
}

/** The steps of a replay, in order. */
async function labelsOf(body: Body, line: string): Promise<readonly string[]> {
  const labels: string[] = []
  const decider = replayOf(parseTrace(line))
  const noting: Decider = {
    ...decider,
    begin: () => decider.begin(),
    end: (_decisions, steps = []) => void labels.push(...steps.map(({ label }) => label)),
  }
  await exploreAll(body, { decider: noting })
  return labels
}

describe('the coverage of orders', () => {
  it('counts the pairs of steps that were seen in both orders', async () => {
    const { orders } = await exploreAll(sides, { maxDeviations: 0 })
    expect(orders).toMatchObject({ pairs: 3, bothWays: 0 })
    const { orders: all } = await exploreAll(sides, { maxDeviations: 1 })
    expect(all).toEqual({ pairs: 3, bothWays: 3, unmet: [] })
  })

  it('has the shortest schedule to each order that was never seen', async () => {
    const { orders } = await exploreAll(sides, { maxDeviations: 1, budget: { runs: 2 } })
    expect(orders).toMatchObject({ pairs: 3, bothWays: 1 })
    expect(orders.unmet).toEqual([
      { first: 'body/right 2#1', then: 'body/left 2#1', replay: 'v1|next@body/left 2#1>body/right 2#1' },
      { first: 'body/right 3#1', then: 'body/left 3#1', replay: 'v1|next@body/left 3#1>body/right 3#1' },
    ])
    for (const { replay } of orders.unmet)
      expect(await exploreAll(sides, { replay })).toMatchObject({ runs: 1, deepest: 1 })
  })

  it.each([
    ['an approval', allAnswer(['ada'])] as const,
    ['two runs that sleep', oversold.body] as const,
    ['two runs with steps outside', staleCache.body] as const,
  ])('has schedules with these orders, after any number of schedules: %s', async (_name, body) => {
    for (let runs = 1; runs < 60; runs += 6) {
      const { orders } = await exploreAll(body, { budget: { runs } })
      expect(orders.unmet.length).toBeGreaterThan(0)
      for (const { first, then, replay } of orders.unmet) {
        const labels = await labelsOf(body, replay)
        expect(labels, replay).toContain(first)
        expect(labels.slice(0, labels.indexOf(first)), replay).not.toContain(then)
      }
    }
  })
})

describe('t.sometimes', () => {
  it('is counted in schedules', async () => {
    const body: Body = async (t) => {
      const order: string[] = []
      await Promise.all(['left', 'right'].map((side) => t.step(side, () => void order.push(side))))
      for (const _twice of [1, 2]) t.sometimes('right first', order[0] === 'right')
      t.sometimes('both', order.length === 2)
    }
    const { runs, sometimes } = await exploreAll(body, { maxDeviations: 1 })
    expect(sometimes).toEqual({ 'right first': 1, both: runs })
  })
})
