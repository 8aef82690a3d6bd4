import { describe, expect, it } from 'vitest'
import { BenchSide } from '../../bench/bench-side.ts'
import { holdContest } from '../../bench/contest.ts'
import { counts } from '../../bench/figures/counts.ts'
import { dashboard } from '../../bench/figures/dashboard.ts'
import { deadlines } from '../../bench/figures/deadlines.ts'
import { disk } from '../../bench/figures/disk.ts'
import { fleets } from '../../bench/figures/fleets.ts'
import { createGrowthFigure } from '../../bench/figures/growth.ts'
import { history } from '../../bench/figures/history.ts'
import { lists } from '../../bench/figures/lists.ts'
import { http } from '../../bench/figures/http.ts'
import { parked } from '../../bench/figures/parked.ts'
import { pauses } from '../../bench/figures/pauses.ts'
import { bloat } from '../../bench/figures/bloat.ts'
import { createPeersFigure } from '../../bench/figures/peers.ts'
import { postgres } from '../../bench/figures/postgres.ts'
import { restart } from '../../bench/figures/restart.ts'
import { readers } from '../../bench/figures/readers.ts'
import { resume } from '../../bench/figures/resume.ts'
import { runs } from '../../bench/figures/runs.ts'
import { schedules } from '../../bench/figures/schedules.ts'
import { sdk } from '../../bench/figures/sdk.ts'
import { startUp } from '../../bench/figures/start-up.ts'
import { streams } from '../../bench/figures/streams.ts'
import { told } from '../../bench/figures/told.ts'
import { tokens } from '../../bench/figures/tokens.ts'
import { trips } from '../../bench/figures/trips.ts'
import { virtualTime } from '../../bench/figures/virtual-time.ts'
import { workers } from '../../bench/figures/workers.ts'
import { RecordedApprovals } from '../../bench/bare/recorded-approvals.ts'
import type { Lab } from '../../bench/lab.ts'
import { openPark } from '../../bench/park.ts'
import type { Peer } from '../../bench/peers/peer.ts'
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
  missing: ({ packageName }) => (packageName === '' ? undefined : 'a test asks for none'),
  measureTally: takeTally,
  startWorker: openWorker,
  layWire: (url) => Promise.resolve({ url, close: () => Promise.resolve() }),
}

const peer: Peer = {
  name: 'a peer',
  packageName: '',
  place: 'memory',
  leastNode: 0,
  open: () => Promise.resolve(new RecordedApprovals()),
}
const broken: Peer = { ...peer, name: 'a broken peer', open: () => Promise.reject(new Error('out of order')) }
const peers = createPeersFigure([broken, peer])
const growth = createGrowthFigure([broken, peer])

const all = [
  counts,
  runs,
  tokens,
  resume,
  parked,
  deadlines,
  lists,
  dashboard,
  streams,
  readers,
  schedules,
  disk,
  restart,
  postgres,
  trips,
  told,
  bloat,
  history,
  workers,
  fleets,
  http,
  sdk,
  startUp,
  peers,
  virtualTime,
  pauses,
  growth,
]

describe('figures', () => {
  it.each(all)('measures $name', async (figure) => {
    const lines = await figure.measure(lab)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      if ('why' in line) continue
      const { ours, bare } = line
      for (const { values } of bare === undefined ? [ours] : [ours, bare]) {
        expect(values.length).toBeGreaterThan(0)
        expect(values.every(Number.isFinite)).toBe(true)
      }
    }
  })

  it('tells its contests apart by name', () => {
    const names = all.flatMap(({ contests }) => contests.map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
  })

  it('says why a peer cannot be measured, and measures the others', async () => {
    const lines = await peers.measure(lab)
    const failed = lines.filter((line) => 'why' in line && line.why.includes('out of order'))
    expect(failed).toHaveLength(2)
    expect(lines.filter((line) => 'ours' in line)).toHaveLength(2)
  })

  it('plots a peer beside ours, and says why another is not there', async () => {
    const lines = await growth.measure(lab)
    expect(lines.filter((line) => 'why' in line && line.why.includes('out of order'))).toHaveLength(1)
    const runsAtOnce = lines.find(({ what }) => what.startsWith('runs with a wait'))
    const names = runsAtOnce && 'curve' in runsAtOnce ? runsAtOnce.curve.lines.map(({ name }) => name) : []
    expect(names).toEqual(['waitpoint', 'bare limit', 'a peer'])
  })
})
