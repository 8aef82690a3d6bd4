import type { Contest } from './contest.ts'
import type { Measurement, Omission, Series } from './measurement.ts'
import type { MeasurePark } from './park.ts'
import type { PeerPackage } from './peers/peer.ts'
import type { Elsewhere, WorkerOptions } from './postgres-worker.ts'
import type { SlowWire } from './slow-wire.ts'
import type { MeasureTally } from './tally.ts'

/** A measured thing, with the name that `npm run bench -- NAME` takes. */
export interface Figure {
  readonly name: string
  readonly contests: readonly Contest[]
  measure(lab: Lab): Promise<readonly (Measurement | Omission)[]>
}

/** The amount of work, and its processes: separate ones, except in tests. */
export interface Lab {
  /** The number of pieces of work, `full` outside of tests. */
  count(full: number): number
  /** The number of repetitions, `full` outside of tests. */
  rounds(full: number): number
  hold<Name extends string>(contest: Contest<Name>): Promise<Readonly<Record<Name, Series>>>
  /** The reason why a peer cannot be measured here; `undefined` if it can. */
  missing(peer: PeerPackage): string | undefined
  readonly measurePark: MeasurePark
  readonly measureTally: MeasureTally
  /** Starts a worker on a Postgres schema. */
  startWorker(schema: string, options?: WorkerOptions): Promise<Elsewhere>
  /** Lays a wire to a server, over which everything takes so many milliseconds longer. */
  layWire(url: string, lagMs: number): Promise<SlowWire>
}
