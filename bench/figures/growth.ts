import { DeadlineQueue } from '../../src/primitives/deadline-queue.ts'
import type { Approvals } from '../bare/approvals.ts'
import { BinaryHeap } from '../bare/binary-heap.ts'
import { RecordedApprovals } from '../bare/recorded-approvals.ts'
import type { Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import { appendMetadata, followStreams, resumeInLine } from '../crowded-run.ts'
import type { Figure, Lab } from '../lab.ts'
import { climb, exponentLine, type Ladder, ladderOf, linesOf } from '../ladder.ts'
import type { CurveLine, CurvePoint, Goal, Measurement, Omission } from '../measurement.ts'
import type { Peer } from '../peers/peer.ts'
import { climbPeer, peerLadderOf } from '../peers/peer-ladder.ts'
import { cancelAllBare, cancelAllOurs, fireAll, randomInstants } from './deadlines.ts'
import { walkBare, walkOurs } from './lists.ts'
import { batchesOurs, readersOurs } from './readers.ts'
import { appendBare } from './streams.ts'
import { inCrowds } from '../approval-loops.ts'

/** The work of a heap also grows with its depth and with cache misses, for the textbook heap too. */
const AS_THE_BARE: Goal = { kind: 'over', most: 0.15 }
const DECADES = [1_000, 10_000, 100_000] as const
const FEWER = [100, 1_000, 10_000] as const
const CHUNKS_OF_EACH = 20

const runLadder = ladderOf({
  what: 'runs with a wait, all at once',
  sizes: 'runs',
  at: DECADES,
  ours: (count) => crowd(new EngineApprovals(), count),
  bare: (count) => crowd(new RecordedApprovals(), count),
})

const ladders: readonly Ladder[] = [
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
  ladderOf({ what: 'runs that resume through ten slots', sizes: 'runs', at: DECADES, ours: resumeInLine }),
  ladderOf({ what: 'streams of a run that is followed', sizes: 'streams', at: FEWER, ours: followStreams }),
  ladderOf({ what: 'metadata appended', sizes: 'items', at: DECADES, ours: appendMetadata }),
]

/** The growth of costs with the amount of work: an exponent of 1 is linear; an accident would be 2. */
export function createGrowthFigure(peers: readonly Peer[]): Figure {
  const peerLadders = peers.map((peer) => peerLadderOf(peer))
  return {
    name: 'growth',
    contests: [runLadder, ...ladders, ...peerLadders].flatMap(({ contests }) => contests),
    async measure(lab) {
      const lines: (Measurement | Omission)[] = [await climbHeap(lab)]
      const others: CurveLine[] = []
      for (const ladder of peerLadders) {
        const climbed = await climbPeer(lab, ladder)
        if ('why' in climbed) lines.push(climbed)
        else others.push(climbed)
      }
      lines.push(await climb(lab, runLadder, others))
      for (const ladder of ladders) lines.push(await climb(lab, ladder))
      return lines
    },
  }
}

function crowd(approvals: Approvals, count: number): Contestant {
  return {
    pass: () => inCrowds(approvals, { count, isParked: false, atOnce: count }),
    close: () => approvals.close(),
  }
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
  const lines = linesOf(await climbSide('ours'), await climbSide('bare'))
  return exponentLine({ what: 'heap of parked runs', sizes: 'runs', unit: 'bytes', lines })
}
