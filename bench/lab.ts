import type { Contest } from './contest.ts'
import type { Measurement, Omission, Series } from './measurement.ts'
import type { MeasurePark } from './park.ts'
import type { PeerPackage } from './peers/peer.ts'
import type { Elsewhere } from './postgres-worker.ts'
import type { MeasureTally } from './tally.ts'

/** One thing that is measured, by the name that `npm run bench -- NAME` takes. */
export interface Figure {
  readonly name: string
  readonly contests: readonly Contest[]
  measure(lab: Lab): Promise<readonly (Measurement | Omission)[]>
}

/** How much is done, and where: in processes of their own, except in tests. */
export interface Lab {
  /** How many pieces of work to do instead of `full`. */
  count(full: number): number
  /** How often to repeat instead of `full` times. */
  rounds(full: number): number
  hold<Name extends string>(contest: Contest<Name>): Promise<Readonly<Record<Name, Series>>>
  /** Why a peer cannot be measured here; `undefined` when it can. */
  missing(peer: PeerPackage): string | undefined
  readonly measurePark: MeasurePark
  readonly measureTally: MeasureTally
  /** Starts a worker on a Postgres schema. */
  startWorker(schema: string): Promise<Elsewhere>
}
