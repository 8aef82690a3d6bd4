import type { Figure } from '../lab.ts'
import type { Goal, Measurement } from '../measurement.ts'
import type { Tally } from '../tally.ts'

const AT_ONCE = 1_000

/** What must not grow unnoticed, in things that do not depend on the machine: the most that each may come to. */
const MOST: Readonly<Record<keyof Tally, number>> = { promises: 19, allocatedBytes: 18_500, timers: 1 }

/** What a run with a wait costs, counted instead of timed: `npm test` fails when one of them grows. */
export const counts: Figure = {
  name: 'counts',
  contests: [],
  async measure(lab) {
    const count = lab.count(AT_ONCE)
    const ours = await lab.measureTally('ours', count)
    const bare = await lab.measureTally('bare', count)
    const compare = (field: keyof Tally): Pick<Measurement, 'count' | 'ours' | 'bare' | 'goal'> => ({
      count,
      ours: { values: [ours[field]] },
      bare: { values: [bare[field]] },
      goal: { kind: 'value', most: MOST[field] } satisfies Goal,
    })
    return [
      { what: 'promises of a run with a wait', unit: 'count', ...compare('promises') },
      { what: 'allocated for a run with a wait', unit: 'bytes', ...compare('allocatedBytes') },
      { what: 'timers armed for 1,000 parked runs', unit: 'count', ...compare('timers') },
    ]
  },
}
