import type { Hold, TimerAbout } from '../../contract/clock.ts'
import type { WaitedToken, WaitingRun } from './wait-graph.ts'

/** Details of a timer that a fixture can tell. Requested only when needed. */
export interface WitnessedTimer extends TimerAbout {
  /** The waiting run or caller, with the place of its origin, as text for people. */
  whom?(): string | undefined
  /**
   * Every deadline that the timer covers, in no order: an engine sets one timer for all its tokens, at the first
   * deadline.
   */
  deadlines?(): Iterable<WitnessedDeadline>
  /** The token that would time out with the timer although a run waits for it and its timeout is only the default. */
  forgotten?(): WaitedToken | undefined
}

/** The deadline of a waiting token, or the end of a sleep. */
export interface WitnessedDeadline {
  readonly tokenId: string
  readonly at: number
  readonly createdAt: number
  /** The waiting run or caller, with the place of its origin, as text for people. */
  readonly whom: string
  /** The first line of user code that led to it. */
  readonly origin: string
}

/** Details of a hold that a fixture can tell. Requested only when needed. */
export interface WitnessedHold extends Hold {
  /** The run of the hold, with all its waits. */
  run?(): WaitingRun | undefined
  /** The last storage call. */
  lastBoundary?(): string | undefined
  /** The first line of user code that led to it. */
  readonly origin?: (() => string) | undefined
}
