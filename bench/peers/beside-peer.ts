import type { Lab } from '../lab.ts'
import type { Measurement, Omission } from '../measurement.ts'
import type { PeerPackage } from './peer.ts'

/** One line of the report, about one peer. */
export interface PeerLine {
  readonly peer: PeerPackage
  readonly what: string
}

/**
 * The line of a peer, or the reason why there is none. A peer that is missing, fails or hangs does not prevent the
 * others.
 */
export async function besidePeer(
  lab: Lab,
  { peer, what }: PeerLine,
  measure: () => Promise<Omit<Measurement, 'what'>>,
): Promise<Measurement | Omission> {
  const why = lab.missing(peer)
  if (why !== undefined) return { what, why }
  try {
    return { what, ...(await measure()) }
  } catch (error) {
    return { what, why: String(error) }
  }
}
