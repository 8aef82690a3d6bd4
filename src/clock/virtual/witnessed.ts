import type { Hold, TimerAbout } from '../../contract/clock.ts'
import type { WaitedToken, WaitingRun } from './wait-graph.ts'

/** What a fixture can tell of a timer besides. Asked only when it matters. */
export interface WitnessedTimer extends TimerAbout {
  /** Whom it is for, and where that was made: text for people. */
  readonly whom?: () => string | undefined
  /** Every deadline it stands for, in no order: an engine sets one timer for all its tokens, where the first is due. */
  readonly deadlines?: () => Iterable<WitnessedDeadline>
  /** A token that would time out with it though somebody waits for it and nobody said when it times out. */
  readonly forgotten?: () => WaitedToken | undefined
}

/** The deadline of a token that waits, or the end of a sleep. */
export interface WitnessedDeadline {
  readonly tokenId: string
  readonly at: number
  readonly createdAt: number
  /** Whom it is for, and where that was made: text for people. */
  readonly whom: string
  /** The first line of user code that led to it. */
  readonly origin: string
}

/** What a fixture can tell of a hold besides. Asked only when it matters. */
export interface WitnessedHold extends Hold {
  /** The run it is about, with all it waits for. */
  readonly run?: () => WaitingRun | undefined
  /** What it last asked the storage for. */
  readonly lastBoundary?: () => string | undefined
  /** The first line of user code that led to it. */
  readonly origin?: () => string
}
