import type { LeaseRecord, NextDue, TickRequest } from '../../contract/storage.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { Lease } from './entries.ts'

const NONE: readonly Lease[] = []

/** Which engines are alive. A lease is over at the instant `until`, and a lost one is never renewed. */
export class Leases {
  readonly #live = new Map<string, Lease>()
  /** Kept for as long as their owner may come back and has to be told. */
  readonly #lost = new Map<string, Lease>()
  readonly #ends = new DeadlineQueue<Lease>()

  /** The lease of an owner that is alive. */
  live(owner: string): Lease | undefined {
    return this.#live.get(owner)
  }

  /** All leases of engines that have not left. All of them are in this process. */
  get all(): readonly LeaseRecord[] {
    return [...this.#live.values(), ...this.#lost.values()].map(({ owner, until, heardAt, isLive }) => ({
      owner,
      isLost: !isLive,
      ...(until === Infinity ? {} : { until, heardAt }),
    }))
  }

  /** Takes the leases that are over at `now` out of the living. */
  expire(now: number): readonly Lease[] {
    if ((this.#ends.peek()?.at ?? Infinity) > now) return NONE
    const lost: Lease[] = []
    for (let end = this.#ends.popDue(now); end !== undefined; end = this.#ends.popDue(now)) {
      const lease = end.value
      lease.isLive = false
      lease.ready = undefined
      this.#live.delete(lease.owner)
      this.#lost.set(lease.owner, lease)
      lost.push(lease)
    }
    return lost
  }

  /** Begins or prolongs a lease, of an owner that is alone without an end; `undefined` when it was lost. */
  renew({ owner, leaseUntil, endless = false, now }: TickRequest): Lease | undefined {
    if (this.#lost.has(owner)) return undefined
    let lease = this.#live.get(owner)
    if (lease === undefined) this.#live.set(owner, (lease = new Lease(owner, leaseUntil)))
    lease.heardAt = now
    this.#endAt(lease, endless && this.#live.size === 1 ? Infinity : leaseUntil)
    return lease
  }

  /** Another owner is there: leases without an end get one. Answers these leases. */
  endEndless(owner: string, until: number): readonly Lease[] {
    const endless = [...this.#live.values()].filter(
      (lease) => lease.owner !== owner && lease.until === Infinity,
    )
    for (const lease of endless) {
      lease.heardAt = undefined
      this.#endAt(lease, until)
    }
    return endless
  }

  #endAt(lease: Lease, until: number): void {
    if (lease.until === until && lease.deadline !== undefined) return
    if (lease.deadline !== undefined) this.#ends.cancel(lease.deadline)
    lease.until = until
    lease.deadline = until === Infinity ? undefined : this.#ends.add(until, lease)
  }

  /** Forgets an owner that leaves; answers its lease, lost or not. */
  end(owner: string): Lease | undefined {
    const lease = this.#live.get(owner) ?? this.#lost.get(owner)
    if (lease === undefined) return undefined
    if (lease.deadline !== undefined) this.#ends.cancel(lease.deadline)
    lease.isLive = false
    lease.ready = undefined
    this.#live.delete(owner)
    this.#lost.delete(owner)
    return lease
  }

  /** Forgets the owners that lost their lease before `instant` and hold nothing any more. */
  forget(instant: number): void {
    for (const [owner, lease] of this.#lost) {
      if (lease.until < instant && lease.runs === 0) this.#lost.delete(owner)
    }
  }

  /** The next end of a lease that others than `owner` wait for: it holds runs. */
  nextDue(owner: string): NextDue | undefined {
    let next: Lease | undefined
    for (const lease of this.#live.values()) {
      if (lease.owner === owner || lease.runs === 0) continue
      if (next === undefined || lease.until < next.until) next = lease
    }
    return next && { at: next.until, what: `lease ${next.owner}` }
  }
}
