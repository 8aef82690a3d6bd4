import { AT_ONCE, inCrowds, oneAfterAnother } from '../approval-loops.ts'
import type { Approvals } from '../bare/approvals.ts'
import { DeferredApprovals } from '../bare/deferred-approvals.ts'
import { RecordedApprovals } from '../bare/recorded-approvals.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Goal, Measurement } from '../measurement.ts'

type RunsContest = Contest<'ours' | 'recorded' | 'deferred'>

/** Does the job `count` times. */
type Course = (approvals: Approvals, count: number) => Promise<void>
/** Half the rate of the bare limit is twice its time. */
const HALF_THE_RATE: Goal = { kind: 'ratio', most: 2 }

const oneByOne = approvalContest('run with a wait, one after another', oneAfterAnother)
const together = approvalContest('run with a wait, 1,000 at once', (approvals, count) =>
  inCrowds(approvals, { count, isParked: false }),
)
const apart = approvalContest('run with a wait, 1,000 parked', (approvals, count) =>
  inCrowds(approvals, { count, isParked: true }),
)

/** Complete runs with one wait: trigger, create a token, wait for it, complete it, take the result. */
export const runs: Figure = {
  name: 'runs',
  contests: [oneByOne, together, apart],
  async measure(lab) {
    return [
      ...(await compare(lab, oneByOne, HALF_THE_RATE)),
      ...(await compare(lab, together)),
      ...(await compare(lab, apart)),
    ]
  },
}

async function compare(lab: Lab, contest: RunsContest, goal?: Goal): Promise<readonly Measurement[]> {
  const { ours, recorded, deferred } = await lab.hold(contest)
  const common = { unit: 'ns', count: lab.count(contest.count), ours } as const
  return [
    { ...common, what: contest.name, bare: recorded, ...(goal === undefined ? {} : { goal }) },
    { ...common, what: '  beside the barest form', bare: deferred },
  ]
}

/**
 * Each side is opened once. The machine code for an engine is discarded with the engine, so a new one for every pass
 * would measure the compiler.
 */
function approvalContest(name: string, course: Course): RunsContest {
  const contestant = (approvals: Approvals, count: number): Contestant => ({
    pass: () => course(approvals, count),
    close: () => approvals.close(),
  })
  return {
    name,
    count: 3 * AT_ONCE,
    rounds: 20,
    warmUps: 10,
    sides: {
      ours: (count) => contestant(new EngineApprovals(), count),
      recorded: (count) => contestant(new RecordedApprovals(), count),
      deferred: (count) => contestant(new DeferredApprovals(), count),
    },
  }
}
