import type { CancelTimer, Clock } from '../../contract/clock.ts'

/** The attempt that is limited, and its reaction when its time is up. */
export interface LimitedAttempt {
  readonly id: string
  readonly clock: Clock
  timeIsUp(): void
}

/** The time an attempt may execute: it runs while the attempt holds a slot, and stands still while it is parked. */
export class ExecutionLimit {
  readonly #attempt: LimitedAttempt
  #leftMs: number
  #startedAt = 0
  #cancel: CancelTimer | undefined

  constructor(attempt: LimitedAttempt, ms: number) {
    this.#attempt = attempt
    this.#leftMs = ms
  }

  start(): void {
    if (this.#cancel !== undefined) return
    const { clock, id } = this.#attempt
    this.#startedAt = clock.now()
    const about = { label: `maxDuration of ${id}` }
    this.#cancel = clock.setTimer(this.#startedAt + this.#leftMs, () => this.#attempt.timeIsUp(), about)
  }

  pause(): void {
    if (this.#cancel === undefined) return
    this.#cancel()
    this.#cancel = undefined
    this.#leftMs = Math.max(0, this.#leftMs - (this.#attempt.clock.now() - this.#startedAt))
  }
}
