import type { Approvals } from '../bare/approvals.ts'

/** The place where a peer stores its runs. */
export type PeerPlace = 'memory' | 'file' | 'Postgres'

/** A compared package, and its requirements. */
export interface PeerPackage {
  /** The name in the report: the package, and where it stores its runs. */
  readonly name: string
  readonly packageName: string
  readonly place: PeerPlace
  /** The lowest major version of Node it supports. */
  readonly leastNode: number
}

/** An alternative engine that can do the benchmark job. */
export interface Peer extends PeerPackage {
  /** Opens it as its documentation recommends for a number of concurrent runs. */
  open(atOnce: number): Promise<Approvals>
}
