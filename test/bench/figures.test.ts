import { describe, expect, it } from 'vitest'
import { BenchSide } from '../../bench/bench-side.ts'
import { holdContest } from '../../bench/contest.ts'
import { counts } from '../../bench/figures/counts.ts'
import { deadlines } from '../../bench/figures/deadlines.ts'
import { disk } from '../../bench/figures/disk.ts'
import { lists } from '../../bench/figures/lists.ts'
import { http } from '../../bench/figures/http.ts'
import { parked } from '../../bench/figures/parked.ts'
import { postgres } from '../../bench/figures/postgres.ts'
import { restart } from '../../bench/figures/restart.ts'
import { resume } from '../../bench/figures/resume.ts'
import { runs } from '../../bench/figures/runs.ts'
import { schedules } from '../../bench/figures/schedules.ts'
import { startUp } from '../../bench/figures/start-up.ts'
import { streams } from '../../bench/figures/streams.ts'
import type { Lab } from '../../bench/lab.ts'
import { openPark } from '../../bench/park.ts'
import { openWorker } from '../../bench/postgres-worker.ts'
import { takeTally } from '../../bench/tally.ts'

const COUNT = 10

/** Everything once, with next to nothing to do, in this process. */
const lab: Lab = {
  count: () => COUNT,
  rounds: () => 1,
  hold: (contest) => {
    const open = (name: string): Promise<BenchSide> => BenchSide.open(contest, name, COUNT)
    return holdContest(contest, { rounds: 1, warmUps: 0, open })
  },
  measurePark: async (side, count) => {
    const park = await openPark(side, count)
    await park.close()
    return park.memory
  },
  measureTally: takeTally,
  startWorker: openWorker,
}

describe('figures', () => {
  it.each([
    counts,
    runs,
    resume,
    parked,
    deadlines,
    lists,
    streams,
    schedules,
    disk,
    restart,
    postgres,
    http,
    startUp,
  ])('measures $name', async (figure) => {
    const measurements = await figure.measure(lab)
    expect(measurements.length).toBeGreaterThan(0)
    for (const { ours, bare } of measurements) {
      for (const { values } of bare === undefined ? [ours] : [ours, bare]) {
        expect(values.length).toBeGreaterThan(0)
        expect(values.every(Number.isFinite)).toBe(true)
      }
    }
  })

  it('tells its contests apart by name', () => {
    const names = [runs, resume, deadlines, lists, streams, schedules, disk, postgres, http].flatMap(
      ({ contests }) => contests.map(({ name }) => name),
    )
    expect(new Set(names).size).toBe(names.length)
  })
})
