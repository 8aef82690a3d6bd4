import type { CancelTimer } from '../../contract/clock.ts'
import type { NextDue, TickResult } from '../../contract/storage.ts'
import { chain, rescue, unawaited } from '../../primitives/awaitable.ts'
import { LEASE } from '../diagnostics.ts'
import { correctClock, type Host, meetsMachines } from './host.ts'
import type { Upcalls } from '../upcalls.ts'
import type { Outage } from './outage.ts'

const TICK_LIMIT = 1_000
const RETRY_MS = 1_000
/** A storage on another machine is asked no more often than this what is due next, in place of what is not due any more. */
const LOOK_PAUSE_MS = 1_000

interface Parts {
  readonly host: Host
  readonly outage: Outage
  readonly upcalls: Upcalls
}

/**
 * Keeps the lease and meets every deadline: one timer at the next instant something is due, one for leases, its own and
 * those of others. Both do the same: tick the storage and act on its answer.
 */
export class Ticker {
  readonly #kernel: Parts
  readonly #leaseMs: number
  #due: NextDue | undefined
  #expected: NextDue | undefined
  #cancelDue: CancelTimer | undefined
  #cancelUpkeep: CancelTimer | undefined
  #cancelLook: CancelTimer | undefined
  #isTicking = false
  #isAskedAgain = false
  #isBehind = false
  /** The next tick from this instant on looks at everything. */
  #fullAt = -Infinity
  #isStopped = false
  #hasLease = false
  #renewals = 0

  constructor(kernel: Parts, { leaseMs }: { readonly leaseMs: number }) {
    this.#kernel = kernel
    this.#leaseMs = leaseMs
  }

  /** Ticks that took or renewed the lease. */
  get renewals(): number {
    return this.#renewals
  }

  /** Whether storage has granted a lease to the engine under its present name. */
  get hasLease(): boolean {
    return this.#hasLease
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
    this.#cancelLook?.()
  }

  /** Something is due at `at`: the timer moves there if it stands later. Hot, hence no text is made of its kind and its id before. */
  dueAt(at: number, kind: string, id?: string): void {
    const isEarlier = !this.#isStopped && (this.#due === undefined || this.#due.at > at)
    if (!isEarlier && !this.#isTicking) return
    const due = { at, what: id === undefined ? kind : `${kind} ${id}` }
    // A tick that is out may answer with what it saw before this was stored.
    if (this.#isTicking) this.#expected = earlier(this.#expected, due)
    if (isEarlier) this.#arm(due)
  }

  /**
   * Nothing is due at `at` any more: if the timer stands there it may have to move, which a tick after this turn says. Where a tick is
   * a round trip it comes later: in real time a timer that stands too early is a tick in vain, and nothing else.
   */
  notDue(at: number | undefined): void {
    if (at === undefined || this.#due?.at !== at) return
    if (this.#isStopped || this.#cancelLook !== undefined) return
    const { host } = this.#kernel
    const look = (): void => {
      this.#cancelLook = undefined
      this.tickNow()
    }
    const lookAt = host.now() + (meetsMachines(host) ? LOOK_PAUSE_MS : 0)
    this.#cancelLook = host.clock.setTimer(lookAt, look, { label: 'a look at what is due', background: true })
  }

  /** The answer to a call was lost: storage may have done it all the same. A tick in 1 s looks at everything. */
  answerLost(what: string): void {
    this.#isBehind = true
    this.dueAt(this.#kernel.host.now() + RETRY_MS, what)
  }

  /** Ticks now, or right after the tick that is under way; a `full` one looks at what hints should have said. */
  tickNow({ full = false }: { readonly full?: boolean } = {}): void {
    if (full) this.#fullAt = -Infinity
    if (this.#isStopped) return
    if (this.#isTicking) {
      this.#isAskedAgain = true
      return
    }
    unawaited(
      () => this.#tick(),
      (error) => this.#failed(error),
    )
  }

  #failed(error: unknown): void {
    this.#isTicking = false
    this.#fullAt = -Infinity
    this.answerLost('a tick that failed')
    this.#kernel.upcalls.failed(error)
  }

  #tick(): void | Promise<void> {
    this.#isTicking = true
    const { host } = this.#kernel
    const now = host.now()
    const leaseUntil = now + this.#leaseMs
    const isFull = now >= this.#fullAt
    if (isFull) this.#fullAt = this.#renewAt(now)
    const { owner } = host
    // The hint that ends an endless lease may be lost on the way from another machine: then this engine looks by itself.
    const endless = !meetsMachines(host)
    const question = { owner, leaseUntil, endless, census: isFull, now, limit: TICK_LIMIT }
    // Until storage has answered, the lease it may have granted counts.
    this.#upkeepAt(this.#renewAt(now))
    return chain(host.storage.tick(question), (result) => this.#ticked(result, { now, isFull }))
  }

  #ticked(result: TickResult, { now, isFull }: { readonly now: number; readonly isFull: boolean }): void {
    this.#isTicking = false
    if (this.#isStopped) return
    const { host, upcalls, outage } = this.#kernel
    outage.answered()
    if (result.time !== undefined) correctClock(host.clock, { askedAt: now, time: result.time })
    this.#hasLease = result.alive
    if (!result.alive) {
      if (LEASE.hasSubscribers) this.#tellLease('lost')
      upcalls.leaseLost()
      // Claims of the lost owner found nothing, and say nothing of what a rate has held back.
      this.#isBehind = true
      this.tickNow()
      return
    }
    this.#renewals += 1
    if (LEASE.hasSubscribers) this.#tellLease('renewed')
    this.#arm(earlier(this.#expected, result.nextDue))
    this.#expected = undefined
    const renewAt = result.leaseUntil === undefined ? Infinity : this.#renewAt(now)
    this.#upkeepAt(Math.min(renewAt, result.nextLease?.at ?? Infinity))
    const isBehind = this.#isBehind
    this.#isBehind = false
    upcalls.ticked(result, { isBehind, isFull })
    if (!this.#isAskedAgain) return
    this.#isAskedAgain = false
    this.tickNow()
  }

  #tellLease(outcome: 'renewed' | 'lost'): void {
    const { host } = this.#kernel
    LEASE.publish({ engine: host.owner, at: host.now(), outcome })
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
      this.tickNow()
    }
    this.#cancelDue = this.#kernel.host.clock.setTimer(due.at, fire, { label: `deadline of ${due.what}` })
  }

  /** Renews the lease, or finds the runs of another engine whose lease has ended. */
  #upkeepAt(at: number): void {
    this.#cancelUpkeep?.()
    this.#cancelUpkeep = undefined
    if (at === Infinity || this.#isStopped) return
    const { clock, owner } = this.#kernel.host
    const about = { label: `leases, for ${owner}`, background: true }
    this.#cancelUpkeep = clock.setTimer(at, () => this.tickNow(), about)
  }
}

function earlier(one: NextDue | undefined, other: NextDue | undefined): NextDue | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.at <= other.at ? one : other
}
