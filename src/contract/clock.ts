/**
 * The source of time. Instants are epoch milliseconds.
 *
 * Laws every clock keeps: `now()` is an integer; a timer never fires before its instant, never inside `setTimer`,
 * and never sooner than one macrotask turn after it was set; a canceled timer does not fire; timers fire in the order
 * (instant, creation), each at most once. A timer alone does not keep the process alive; a hold does.
 */
export interface Clock {
  now(): number
  setTimer(at: number, fire: () => void, about?: TimerAbout): CancelTimer
  /** Keeps the process alive until released; says what the engine is busy with. Optional for a custom clock. */
  hold?(hold: Hold): ReleaseHold
  /**
   * Goes by so many more milliseconds ahead of (or behind) the machine's from now on: a storage that machines share says
   * what time it is there. A clock that has nothing to do with any machine's has none.
   */
  adjust?(byMs: number): void
  /**
   * Whether code has run for so long that the event loop is due a turn. The engine then puts off what it has left until a
   * timer fires. Optional: without it, a backlog of runs is worked off in one piece.
   *
   * @param runId The run whose call is to wait, for one in sixteen of the calls of runs.
   */
  isTurnDue?(runId?: string): boolean
}

/** A clock that is told what the engine is busy with. */
export type HoldingClock = Clock & Required<Pick<Clock, 'hold'>>

/** Cancels a timer. Safe to call at any time, any number of times. */
export type CancelTimer = () => void

/** Ends a hold. To be called once. */
export type ReleaseHold = () => void

/** The description of a timer, for the clock: a test clock shows it to people and tells upkeep from waits of runs and callers. */
export interface TimerAbout {
  /** The name of the timer, for people: `deadline of waitpoint_…`. */
  readonly label: string
  /** Upkeep (leases, retention) rather than something a run or a caller waits for. */
  readonly background?: boolean
}

/**
 * - `executing`: the function of a run is being called and waits for nothing of the engine's.
 * - `draining`: a run has returned and its streams are still being read from their sources.
 * - `parked`: a run waits for a token.
 * - `reading`: the source of a stream of a run is asked for its next chunk.
 * - `awaited`: a caller outside a run awaits a result, or the next part of a subscription.
 * - `watching`: code of a run awaits the result of another run, or the next part of its subscription or stream.
 * - `call`: the engine serves a call from outside a run.
 * - `scheduled`: the engine waits for the next instant of a schedule, or at which the rate of a queue lets a run start, or is to keep its process alive.
 */
export interface Hold {
  readonly kind:
    'executing' | 'draining' | 'parked' | 'reading' | 'awaited' | 'watching' | 'call' | 'scheduled'
  /** The id of the run or of the schedule, or the name of the awaited thing. */
  readonly id: string
  /** The id of the run that a `watching` run waits for. */
  readonly watched?: string
  /** A clock that knows the wait can never end may end it with an error. */
  readonly fail?: (error: Error) => void
}
