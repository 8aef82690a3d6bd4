import type { Figure } from '../lab.ts'
import type { Goal, Measurement } from '../measurement.ts'
import type { Tally } from '../tally.ts'

const AT_ONCE = 1_000

/** The limits of counts that do not depend on the machine. */
const MOST: Readonly<Record<keyof Tally, number>> = { promises: 20, allocatedBytes: 17_600, timers: 1 }

/** The cost of a run with a wait, counted instead of timed. `npm run test:all` fails when a count grows. */
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
