import type { Contest } from '../contest.ts'
import type { Lab } from '../lab.ts'
import { pointOf } from '../ladder.ts'
import type { CurveLine, CurvePoint, Omission } from '../measurement.ts'
import type { Peer } from './peer.ts'
import { inCrowds } from '../approval-loops.ts'

/** The sizes for a peer in memory. */
const PEER_SIZES = [100, 1_000, 10_000] as const

/** A peer in memory with increasing numbers of concurrent runs. */
export interface PeerLadder {
  readonly peer: Peer
  readonly contests: readonly Contest[]
}

export function peerLadderOf(peer: Peer): PeerLadder {
  const contests = PEER_SIZES.map((count) => ({
    name: `runs of ${peer.name}, all at once: ${count}`,
    count,
    rounds: 2,
    // The largest size takes so long that start-up costs vanish.
    warmUps: count === PEER_SIZES.at(-1) ? 0 : 1,
    mostMs: 5_000,
    sides: {
      peer: async (size: number) => {
        const approvals = await peer.open(size)
        return {
          pass: () => inCrowds(approvals, { count: size, isParked: false, atOnce: size }),
          close: () => approvals.close(),
        }
      },
    },
  }))
  return { peer, contests }
}

/** Measures as many sizes as the peer can handle. */
export async function climbPeer(lab: Lab, { peer, contests }: PeerLadder): Promise<CurveLine | Omission> {
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
    // The sizes that it reached are plotted.
    if (points.length < 2) return { what, why: String(error) }
  }
  return { name: peer.name, points }
}
