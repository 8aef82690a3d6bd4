import type { CancelTimer } from '../contract/clock.ts'
import type { Host } from './host/host.ts'

/** The time an attempt may execute: it runs while the attempt holds a slot, and stands still while it is parked. */
export class ExecutionLimit {
  readonly #host: Host
  readonly #exceeded: () => void
  readonly #runId: string
  #leftMs: number
  #startedAt = 0
  #cancel: CancelTimer | undefined

  constructor(host: Host, limit: { readonly runId: string; readonly ms: number }, exceeded: () => void) {
    this.#host = host
    this.#runId = limit.runId
    this.#leftMs = limit.ms
    this.#exceeded = exceeded
  }

  start(): void {
    if (this.#cancel !== undefined) return
    this.#startedAt = this.#host.now()
    const about = { label: `maxDuration of ${this.#runId}` }
    this.#cancel = this.#host.clock.setTimer(this.#startedAt + this.#leftMs, this.#exceeded, about)
  }

  pause(): void {
    if (this.#cancel === undefined) return
    this.#cancel()
    this.#cancel = undefined
    this.#leftMs = Math.max(0, this.#leftMs - (this.#host.now() - this.#startedAt))
  }
}
