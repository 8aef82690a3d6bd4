import type { Clock, Hold, ReleaseHold } from '../contract/clock.ts'

/**
 * Where a run stands with its slot: `held` while it executes; `parking` and `resuming` while storage is asked; `queued`
 * when it could resume but all slots are taken; `released` when it is over or only drains.
 */
export type SeatState = 'held' | 'parking' | 'parked' | 'queued' | 'resuming' | 'released'

/** One attempt's claim to a slot. */
export class Seat {
  state: SeatState = 'held'
  /** Waits that are in the storage and not over: while there is none the run has no reason to park. */
  registeredWaits = 0
  /** Something was delivered since the last turn: the run may not park before another one has passed. */
  wasReleased = false
  /** Settled waits whose results come once the run has its slot again. */
  readonly deliveries: (() => void)[] = []
  /** Tokens whose waits were delivered and that storage still lists as ready. */
  readonly consumed: string[] = []
  #held: Hold | undefined
  #release: ReleaseHold | undefined

  /** Tells the clock what the run is busy with, instead of what it was told before; without a hold: with nothing. */
  hold(clock: Clock, held?: Hold): void {
    const release = held && clock.hold?.(held)
    this.#release?.()
    this.#held = held
    this.#release = release
  }

  /** Tells the clock that the run waits until what this returns is called, unless it was told something else since. */
  rest(clock: Clock): () => void {
    const busy = this.#held
    if (busy === undefined) return () => undefined
    const resting: Hold = { kind: 'parked', id: busy.id }
    this.hold(clock, resting)
    return () => {
      if (this.#held === resting) this.hold(clock, busy)
    }
  }
}
