import type { CancelTimer } from '../../contract/clock.ts'
import type { Host } from '../host/host.ts'
import type { RunScope } from '../attempt/attempt.ts'
/** How long the function of an aborted attempt may take to settle before its slot is given away. */
export const GRACE_MS = 5_000

/** What is timed of attempts: how long they execute, and how long they take to settle once they are aborted. */
export class AttemptTimes {
  readonly #host: Host
  readonly #limits = new Map<RunScope, ExecutionLimit>()
  readonly #graces = new Map<RunScope, CancelTimer>()

  constructor(host: Host) {
    this.#host = host
  }

  /** From now on the attempt may execute for so long. */
  limit(scope: RunScope, ms: number, exceeded: () => void): void {
    const limit = new ExecutionLimit(this.#host, { runId: scope.id, ms }, exceeded)
    this.#limits.set(scope, limit)
    limit.start()
  }

  start(scope: RunScope): void {
    this.#limits.get(scope)?.start()
  }

  pause(scope: RunScope): void {
    this.#limits.get(scope)?.pause()
  }

  /** The attempt is over while its function still runs. */
  abort(scope: RunScope, exceeded: () => void): void {
    this.pause(scope)
    const about = { label: `grace of ${scope.id}` }
    this.#graces.set(scope, this.#host.clock.setTimer(this.#host.now() + GRACE_MS, exceeded, about))
  }

  /** Hot: most attempts have neither. */
  end(scope: RunScope): void {
    if (this.#limits.size > 0) {
      this.pause(scope)
      this.#limits.delete(scope)
    }
    if (this.#graces.size > 0) {
      this.#graces.get(scope)?.()
      this.#graces.delete(scope)
    }
  }
}

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
