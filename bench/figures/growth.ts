import type { Approvals } from '../bare/approvals.ts'
import { BinaryHeap } from '../bare/binary-heap.ts'
import { RecordedApprovals } from '../bare/recorded-approvals.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { CurveLine, CurvePoint, Goal, Measurement, Omission, Series } from '../measurement.ts'
import { exponentOf, spreadOf } from '../measurement.ts'
import { effect } from '../peers/effect.ts'
import type { Peer } from '../peers/peer.ts'
import { resonate } from '../peers/resonate.ts'
import { DeadlineQueue } from '../../src/primitives/deadline-queue.ts'
import { cancelAllBare, cancelAllOurs, fireAll, randomInstants } from './deadlines.ts'
import { walkBare, walkOurs } from './lists.ts'
import { batchesOurs, readersOurs } from './readers.ts'
import { inCrowds } from './runs.ts'
import { appendBare } from './streams.ts'

type MakeSide = (count: number) => Contestant | Promise<Contestant>

/** A cost that must not grow faster than its work. */
interface Growth {
  readonly what: string
  /** What the sizes count. */
  readonly sizes: string
  readonly at: readonly number[]
  readonly ours: MakeSide
  readonly bare?: MakeSide
  /** Default: an exponent of 1.15. */
  readonly goal?: Goal
}

/** The same work at several sizes. */
interface Ladder {
  readonly growth: Growth
  readonly contests: readonly Contest[]
}

const LINEAR: Goal = { kind: 'value', most: 1.15 }
/** A heap's work grows by its depth as well, and by what it no longer finds in the cache: as for the textbook's. */
const AS_THE_BARE: Goal = { kind: 'over', most: 0.15 }
/** So much is done first for the compiler: what comes later would seem to grow less than it does. */
const WARM_UP_PIECES = 20_000
const MOST_WARM_UPS = 20
const DECADES = [1_000, 10_000, 100_000] as const
/** How many a peer in memory is asked for. */
const PEER_SIZES = [100, 1_000, 10_000] as const
const CHUNKS_OF_EACH = 20

const ladders: readonly Ladder[] = [
  ladderOf({
    what: 'runs with a wait, all at once',
    sizes: 'runs',
    at: DECADES,
    ours: (count) => crowd(new EngineApprovals(), count),
    bare: (count) => crowd(new RecordedApprovals(), count),
  }),
  ladderOf({
    what: 'tokens listed, page by page',
    sizes: 'tokens',
    at: DECADES,
    ours: walkOurs,
    bare: walkBare,
  }),
  ladderOf({
    what: 'deadlines armed and fired',
    sizes: 'deadlines',
    at: [...DECADES, 1_000_000],
    ours: (count) => fireAll(() => new DeadlineQueue<number>(), randomInstants(count)),
    bare: (count) => fireAll(() => new BinaryHeap<number>(), randomInstants(count)),
    goal: AS_THE_BARE,
  }),
  ladderOf({
    what: 'deadlines canceled',
    sizes: 'deadlines',
    at: [...DECADES, 1_000_000],
    ours: cancelAllOurs,
    bare: cancelAllBare,
    goal: AS_THE_BARE,
  }),
  ladderOf({
    what: 'chunks appended, and read by two',
    sizes: 'chunks',
    at: [...DECADES, 1_000_000],
    ours: batchesOurs,
    bare: (count) => appendBare(() => 'a few words of a model', count),
  }),
  ladderOf({
    what: `subscribers of ${CHUNKS_OF_EACH} chunks`,
    sizes: 'subscribers',
    at: [10, 100, 1_000],
    ours: (count) => readersOurs({ count: CHUNKS_OF_EACH, readers: count }),
  }),
]

const peerLadders = [effect, resonate].map((peer) => ({ peer, contests: peerContests(peer) }))

/** How costs grow as their work does: an exponent of 1 is linear, and an accident is 2. */
export const growth: Figure = {
  name: 'growth',
  contests: [...ladders, ...peerLadders].flatMap(({ contests }) => contests),
  async measure(lab) {
    const lines: (Measurement | Omission)[] = []
    const peerLines: CurveLine[] = []
    for (const { peer, contests } of peerLadders) {
      const climbed = await climbPeer(lab, peer, contests)
      if ('why' in climbed) lines.push(climbed)
      else peerLines.push(climbed)
    }
    for (const ladder of ladders) lines.push(await climb(lab, ladder, ladder === ladders[0] ? peerLines : []))
    return [await climbHeap(lab), ...lines]
  },
}

function ladderOf(growth: Growth): Ladder {
  const { what, at, ours, bare } = growth
  const contests = at.map((count) => ({
    name: `${what}: ${count}`,
    count,
    rounds: 3,
    warmUps: Math.min(MOST_WARM_UPS, Math.ceil(WARM_UP_PIECES / count)),
    sides: { ours, ...(bare === undefined ? {} : { bare }) },
  }))
  return { growth, contests }
}

function crowd(approvals: Approvals, count: number): Contestant {
  return {
    pass: () => inCrowds(approvals, { count, isParked: false, atOnce: count }),
    close: () => approvals.close(),
  }
}

function peerContests(peer: Peer): readonly Contest[] {
  return PEER_SIZES.map((count) => ({
    name: `runs of ${peer.name}, all at once: ${count}`,
    count,
    rounds: 2,
    // The largest takes so long that nothing is left of a start.
    warmUps: count === PEER_SIZES.at(-1) ? 0 : 1,
    mostMs: 5_000,
    sides: { peer: async (size: number) => crowd(await peer.open(size), size) },
  }))
}

async function climb(
  lab: Lab,
  { growth: { what, sizes, bare, goal }, contests }: Ladder,
  peerLines: readonly CurveLine[],
): Promise<Measurement> {
  const reached: Record<'ours' | 'bare', CurvePoint[]> = { ours: [], bare: [] }
  for (const contest of contests) {
    const sides = await lab.hold(contest)
    for (const side of ['ours', 'bare'] as const) {
      if (sides[side] !== undefined) reached[side].push(pointOf(contest.count, sides[side]))
    }
  }
  const lines = [
    { name: 'waitpoint', points: reached.ours },
    ...(bare === undefined ? [] : [{ name: 'bare limit', points: reached.bare }]),
    ...peerLines,
  ]
  return { ...exponentLine({ what, sizes, unit: 'ns', lines }), ...(goal && { goal }) }
}

async function climbPeer(lab: Lab, peer: Peer, contests: readonly Contest[]): Promise<CurveLine | Omission> {
  const what = `runs of ${peer.name}, all at once`
  const why = lab.missing(peer)
  if (why !== undefined) return { what, why }
  const points: CurvePoint[] = []
  try {
    for (const contest of contests) {
      const { peer: series } = await lab.hold(contest)
      if (series !== undefined) points.push(pointOf(contest.count, series))
    }
  } catch (error) {
    // What it did reach is plotted.
    if (points.length < 2) return { what, why: String(error) }
  }
  return { name: peer.name, points }
}

async function climbHeap(lab: Lab): Promise<Measurement> {
  const climbSide = async (side: 'ours' | 'bare'): Promise<CurvePoint[]> => {
    const points: CurvePoint[] = []
    for (const size of DECADES) {
      const { heapBytes } = await lab.measurePark(side, lab.count(size))
      points.push({ size, cost: Math.max(1, heapBytes) })
    }
    return points
  }
  const lines = [
    { name: 'waitpoint', points: await climbSide('ours') },
    { name: 'bare limit', points: await climbSide('bare') },
  ]
  return exponentLine({ what: 'heap of parked runs', sizes: 'runs', unit: 'bytes', lines })
}

function exponentLine(curve: NonNullable<Measurement['curve']>): Measurement {
  const [ours, bare] = curve.lines.filter(({ name }) => name === 'waitpoint' || name === 'bare limit')
  const points = ours?.points ?? []
  return {
    what: `${curve.what}: grows with a power of`,
    unit: 'count',
    count: points.at(-1)?.size ?? 0,
    ours: { values: [exponentOf(points)] },
    ...(bare && { bare: { values: [exponentOf(bare.points)] } }),
    goal: LINEAR,
    curve,
  }
}

/** The whole cost: what one piece takes, as many times. */
function pointOf(size: number, { values }: Series): CurvePoint {
  return { size, cost: spreadOf(values).median * size }
}
