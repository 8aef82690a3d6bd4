import type { CancelTimer } from '../../contract/clock.ts'
import type { NextDue, TickResult } from '../../contract/storage.ts'
import { chain, rescue, unawaited } from '../../primitives/awaitable.ts'
import { correctClock, type Host, meetsMachines } from '../host/host.ts'
const TICK_LIMIT = 1_000
const RETRY_MS = 1_000

export interface TickAbout {
  /** An answer was lost before, and with it what it told. */
  readonly isBehind: boolean
  /** It is time to look at what hints should have told: once in a while, or because they may have been lost. */
  readonly isFull: boolean
}

export interface TickerEvents {
  /** What a tick found; the lease is alive. */
  readonly ticked: (result: TickResult, about: TickAbout) => void
  /** The lease was lost: everything that executes here is stale. */
  readonly leaseLost: () => void
  readonly failed: (error: unknown) => void
}

/**
 * Keeps the lease and meets every deadline: one timer at the next instant something is due, one for leases, its own and
 * those of others. Both do the same: tick the storage and act on what it answers.
 */
export class Ticker {
  readonly #host: Host
  readonly #leaseMs: number
  readonly #events: TickerEvents
  #due: NextDue | undefined
  #expected: NextDue | undefined
  #cancelDue: CancelTimer | undefined
  #cancelUpkeep: CancelTimer | undefined
  #cancelRecheck: CancelTimer | undefined
  #isTicking = false
  #isRequested = false
  #isBehind = false
  /** When everything is looked at next, if not before. */
  #lookAt = -Infinity
  #isStopped = false

  constructor(host: Host, leaseMs: number, events: TickerEvents) {
    this.#host = host
    this.#leaseMs = leaseMs
    this.#events = events
  }

  /** Takes the lease and learns what is due. One that fails can be started again; until then it does nothing. */
  start(): void | Promise<void> {
    return rescue(
      () => this.#tick(),
      (error) => {
        this.#isTicking = false
        this.#upkeepAt(Infinity)
        throw error
      },
    )
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelDue?.()
    this.#cancelUpkeep?.()
    this.#cancelRecheck?.()
  }

  /** Something will be due at `at`: the timer moves there if it stands later. */
  expect(at: number, what: string): void {
    // A tick that is out may answer with what it saw before this was stored.
    if (this.#isTicking) this.#expected = earlier(this.#expected, { at, what })
    if (this.#isStopped || (this.#due !== undefined && this.#due.at <= at)) return
    this.#arm({ at, what })
  }

  /** An answer was lost: storage may have done what nobody here knows of. The tick that comes soon looks at everything. */
  catchUp(what: string): void {
    this.#isBehind = true
    this.expect(this.#host.now() + RETRY_MS, what)
  }

  /** What was due at `at` is settled: if that is where the timer stands, it may have to move. */
  settled(at: number | undefined): void {
    if (at === undefined || this.#due?.at !== at) return
    this.recheck()
  }

  /** Ticks once this turn is over, however often it is asked. */
  recheck(): void {
    if (this.#isStopped || this.#cancelRecheck !== undefined) return
    this.#cancelRecheck = this.#host.clock.setTimer(
      this.#host.now(),
      () => {
        this.#cancelRecheck = undefined
        this.request()
      },
      { label: 'a look at what is due', background: true },
    )
  }

  /** Anything may have changed: ticks now, and looks at everything. */
  lookAtAll(): void {
    this.#lookAt = -Infinity
    this.request()
  }

  /** Ticks now, or right after the tick that is under way. */
  request(): void {
    if (this.#isStopped) return
    if (this.#isTicking) {
      this.#isRequested = true
      return
    }
    unawaited(
      () => this.#tick(),
      (error) => this.#failed(error),
    )
  }

  #failed(error: unknown): void {
    this.#isTicking = false
    this.#lookAt = -Infinity
    this.catchUp('a tick that failed')
    this.#events.failed(error)
  }

  #tick(): void | Promise<void> {
    this.#isTicking = true
    const host = this.#host
    const now = host.now()
    const leaseUntil = now + this.#leaseMs
    const isFull = now >= this.#lookAt
    if (isFull) this.#lookAt = this.#renewAt(now)
    const { owner } = host
    // The hint that ends an endless lease may be lost on the way from another machine: then this engine looks by itself.
    const endless = !meetsMachines(host)
    const question = { owner, leaseUntil, endless, census: isFull, now, limit: TICK_LIMIT }
    // Until storage has answered, the lease it may have granted is what counts.
    this.#upkeepAt(this.#renewAt(now))
    return chain(host.storage.tick(question), (result) => this.#ticked(result, { now, isFull }))
  }

  #ticked(result: TickResult, { now, isFull }: { readonly now: number; readonly isFull: boolean }): void {
    this.#isTicking = false
    if (this.#isStopped) return
    if (result.time !== undefined) correctClock(this.#host.clock, { askedAt: now, time: result.time })
    if (!result.alive) {
      this.#events.leaseLost()
      this.request()
      return
    }
    this.#arm(earlier(this.#expected, result.nextDue))
    this.#expected = undefined
    const renewAt = result.leaseUntil === undefined ? Infinity : this.#renewAt(now)
    this.#upkeepAt(Math.min(renewAt, result.nextLease?.at ?? Infinity))
    const isBehind = this.#isBehind
    this.#isBehind = false
    this.#events.ticked(result, { isBehind, isFull })
    if (!this.#isRequested) return
    this.#isRequested = false
    this.request()
  }

  /** Two more may fail before the lease ends. */
  #renewAt(now: number): number {
    return now + this.#leaseMs / 3
  }

  #arm(due: NextDue | undefined): void {
    this.#cancelDue?.()
    this.#cancelDue = undefined
    this.#due = due
    if (due === undefined || this.#isStopped) return
    const fire = (): void => {
      this.#cancelDue = undefined
      this.#due = undefined
      this.request()
    }
    this.#cancelDue = this.#host.clock.setTimer(due.at, fire, { label: `deadline of ${due.what}` })
  }

  /** Renews the lease, or finds the runs of another engine whose lease has ended. */
  #upkeepAt(at: number): void {
    this.#cancelUpkeep?.()
    this.#cancelUpkeep = undefined
    if (at === Infinity || this.#isStopped) return
    const about = { label: `leases, for ${this.#host.owner}`, background: true }
    this.#cancelUpkeep = this.#host.clock.setTimer(at, () => this.request(), about)
  }
}

function earlier(one: NextDue | undefined, other: NextDue | undefined): NextDue | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.at <= other.at ? one : other
}
