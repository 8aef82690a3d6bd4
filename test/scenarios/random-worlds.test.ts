import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CASES, PATIENCE } from '../support/program-laws.ts'
import { RandomWorld } from '../support/random-world.ts'

/** Each is a dozen runs in some three hundred steps. */
const WORLDS = Math.ceil(CASES / 10)
const STEPS = 300
/** A seed has no smaller one. */
const seeds = fc.noShrink(fc.nat())

it(
  'runs of several processes begin once for each claim and end, whatever becomes of their calls',
  PATIENCE,
  async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const lived = await new RandomWorld(seed).live(STEPS)
        runs += lived.runs
      }),
      { numRuns: WORLDS },
    )
    expect(runs).toBeGreaterThan(WORLDS)
  },
)
