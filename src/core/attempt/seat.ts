import type { Clock, Hold, ReleaseHold } from '../../contract/clock.ts'

/**
 * Where a run stands with its slot: `held` while it executes; `parking` and `resuming` while storage is asked; `queued`
 * when it could resume but all slots are taken; `released` when it is over or only drains.
 */
export type SeatState = 'held' | 'parking' | 'parked' | 'queued' | 'resuming' | 'released'

/** What a run can be busy with. */
export type Occupation = 'executing' | 'draining' | 'parked'

const NONE: readonly string[] = []

/** One attempt's claim to a slot, and what the clock is told of it. */
export class Seat implements Hold {
  /** The id of the run. */
  readonly id: string
  kind: Occupation = 'executing'
  state: SeatState = 'held'
  /** Waits that are in the storage and not over: while there is none the run has no reason to park. */
  registeredWaits = 0
  /** Something was delivered since the last turn: the run may not park before another one has passed. */
  wasReleased = false
  #deliveries: (() => void)[] | undefined
  #consumed: string[] | undefined
  #release: ReleaseHold | undefined

  constructor(id: string) {
    this.id = id
  }

  /** Settled waits whose results come once the run has its slot again. */
  get hasDeliveries(): boolean {
    return this.#deliveries !== undefined
  }

  keep(delivery: () => void): void {
    if (this.#deliveries === undefined) this.#deliveries = [delivery]
    else this.#deliveries.push(delivery)
  }

  /** The run has its slot: it gets what was kept for it. */
  deliverAll(): void {
    const deliveries = this.#deliveries ?? []
    this.#deliveries = undefined
    for (const deliver of deliveries) deliver()
  }

  dropDeliveries(): void {
    this.#deliveries = undefined
  }

  /** Tokens whose waits were delivered and that storage still lists as ready. */
  get consumed(): readonly string[] {
    return this.#consumed ?? NONE
  }

  consume(tokenId: string): void {
    if (this.#consumed === undefined) this.#consumed = [tokenId]
    else this.#consumed.push(tokenId)
  }

  /** Storage no longer lists the first `count` of them. */
  forgetConsumed(count: number): void {
    this.#consumed?.splice(0, count)
  }

  /** Tells the clock what the run is busy with, instead of what it was told before. */
  hold(clock: Clock, kind: Occupation): void {
    const release = this.#release
    this.kind = kind
    this.#release = clock.hold?.(this)
    release?.()
  }

  /** The clock need not care for the run any more. */
  letGo(): void {
    this.#release?.()
    this.#release = undefined
  }

  /** Tells the clock that the run waits until what this returns is called, unless it was told something else since. */
  rest(clock: Clock): () => void {
    if (this.#release === undefined) return () => undefined
    const busy = this.kind
    this.hold(clock, 'parked')
    return () => {
      if (this.#release !== undefined && this.kind === 'parked') this.hold(clock, busy)
    }
  }
}
