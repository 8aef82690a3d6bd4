import type { Approvals } from '../bare/approvals.ts'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Goal, Measurement, Omission, Series } from '../measurement.ts'
import type { ParkSide } from '../park-crowds.ts'
import { besidePeer } from '../peers/beside-peer.ts'
import { effect } from '../peers/effect.ts'
import type { Peer } from '../peers/peer.ts'
import { resonate } from '../peers/resonate.ts'
import { openOursAt } from '../placed-approvals.ts'
import { serveWhile } from '../postgres-bed.ts'
import { inCrowds, oneAfterAnother } from '../approval-loops.ts'

/** The job done with every peer, and the required advantage over a peer in memory. */
interface Discipline {
  readonly what: string
  readonly atOnce: number
  readonly goal: Goal
}

interface Pairing {
  readonly peer: Peer
  readonly discipline: Discipline
  readonly contest: Contest<'ours' | 'peer'>
}

const COUNT = 1_000
/** A pass of runs one after another takes at most this number of them, and at most this long. */
const MOST_RUNS = 10_000
const PASS_MS = 1_000
/** No further round of a contest begins after this time. */
const MOST_MS = 8_000
const PARKED = 10_000

const disciplines: readonly Discipline[] = [
  { what: 'one after another', atOnce: 1, goal: { kind: 'ratio', most: 1 / 40 } },
  { what: '1,000 at once', atOnce: COUNT, goal: { kind: 'ratio', most: 1 / 15 } },
]

/** Peers that keep their runs on the JavaScript heap. */
const parking: readonly { readonly peer: Peer; readonly side: ParkSide }[] = [
  { peer: effect, side: 'Effect' },
  { peer: resonate, side: 'Resonate' },
]

/**
 * A complete run with one wait, compared with the alternatives a user has. All keep their runs in the same place.
 */
export function createPeersFigure(peers: readonly Peer[]): Figure {
  const pairings = disciplines.flatMap((discipline) => peers.map((peer) => pairUp(peer, discipline)))
  return {
    name: 'peers',
    contests: pairings.map(({ contest }) => contest),
    async measure(lab) {
      const lines: (Measurement | Omission)[] = []
      for (const pairing of pairings) lines.push(await compare(lab, pairing))
      for (const { peer, side } of parking) lines.push(await comparePark(lab, peer, side))
      return lines
    },
  }
}

function pairUp(peer: Peer, discipline: Discipline): Pairing {
  const { what, atOnce } = discipline
  const contestant = (approvals: Approvals, count: number): Contestant => ({
    pass: () => asManyAsTimeAllows(approvals, { count, atOnce }),
    close: () => approvals.close(),
  })
  return {
    peer,
    discipline,
    contest: {
      name: `run with a wait, ${what}, beside ${peer.name}`,
      count: COUNT,
      rounds: 5,
      warmUps: 2,
      mostMs: MOST_MS,
      sides: {
        ours: async (count) => {
          const { approvals, close } = await openOursAt(peer.place)
          return { ...contestant(approvals, count), close }
        },
        peer: async (count) => contestant(await peer.open(atOnce), count),
      },
    },
  }
}

function compare(lab: Lab, { peer, discipline, contest }: Pairing): Promise<Measurement | Omission> {
  return besidePeer(lab, { peer, what: contest.name }, async () => {
    const hold = (): ReturnType<typeof lab.hold<'ours' | 'peer'>> => lab.hold(contest)
    const { ours, peer: bare } = await (peer.place === 'Postgres' ? serveWhile(hold) : hold())
    const goal = peer.place === 'memory' ? { goal: discipline.goal } : {}
    return { unit: 'ns', count: lab.count(COUNT), ours, bare, ...goal }
  })
}

function comparePark(lab: Lab, peer: Peer, side: ParkSide): Promise<Measurement | Omission> {
  const what = `heap of a parked run among ${PARKED.toLocaleString('en-US')}, beside ${peer.name}`
  return besidePeer(lab, { peer, what }, async () => {
    const count = lab.count(PARKED)
    const heap = async (of: ParkSide): Promise<Series> => ({
      values: [(await lab.measurePark(of, count)).heapBytes / count],
    })
    return { unit: 'bytes', count, ours: await heap('ours'), bare: await heap(side) }
  })
}

/** Takes runs one after another, or `atOnce` at a time, until the number or the time is reached. Returns the number. */
async function asManyAsTimeAllows(
  approvals: Approvals,
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
): Promise<{ readonly done: number }> {
  const start = performance.now()
  const most = Math.min(count, COUNT) * (MOST_RUNS / COUNT)
  let done = 0
  while (done < most && performance.now() - start < PASS_MS) {
    if (atOnce === 1) await oneAfterAnother(approvals, 1)
    else await inCrowds(approvals, { count: Math.min(atOnce, count), isParked: false })
    done += Math.min(atOnce, count)
  }
  return { done }
}
