import type { Approvals } from '../bare/approvals.ts'

/** Where a peer keeps what it must not lose. */
export type PeerPlace = 'memory' | 'file' | 'Postgres'

/** What ours is measured beside, and what it takes to run it. */
export interface PeerPackage {
  /** As in the report: the package, and where it keeps its runs. */
  readonly name: string
  readonly packageName: string
  readonly place: PeerPlace
  /** The least major version of Node that it runs under. */
  readonly leastNode: number
}

/** Another engine that a user may pick, able to do the same job. */
export interface Peer extends PeerPackage {
  /** Opens it as its documentation advises for so many runs at once. */
  open(atOnce: number): Promise<Approvals>
}
