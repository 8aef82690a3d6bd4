import type { RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, RunResumed } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import type { Host } from '../host/host.ts'
import { persist } from '../host/persist.ts'
import type { RunScope } from '../attempt/attempt.ts'
import type { SeatState } from '../attempt/seat.ts'

/** What the executor is told. */
export interface SlotEvents {
  /** A run parked or resumed: its record changed. */
  readonly changed: (scope: RunScope, record: RunRecord) => void
  /** Storage no longer knows this attempt as the one that runs. */
  readonly stale: (scope: RunScope) => void
  /** A slot became free and no resumed run took it. */
  readonly freed: () => void
  /** A run that a hint has named has resumed; what it waited for, unless storage has not said. */
  readonly woken: (tokens: readonly TokenRecord[] | undefined) => void
  readonly failed: (error: unknown, scope: RunScope) => void
}

export interface SlotOptions {
  /** Runs that may execute in this engine at once. */
  readonly concurrency: number
  readonly queueLimit: (queue: string) => number | undefined
}

/**
 * Who may execute. A run that has waited for one whole macrotask turn parks and gives its slot back; what it waits for
 * is delivered once it has a slot again, resumed runs before queued ones.
 */
export class Slots {
  readonly #host: Host
  readonly #options: SlotOptions
  readonly #events: SlotEvents
  /** Runs that could go on but found no slot, by queue and concurrency key. */
  readonly #waiting = new Map<string, RunScope[]>()
  /** Lanes with a limit whose first run in line has asked storage for a slot; `true`: and a slot was freed since. */
  readonly #asking = new Map<string, boolean>()
  /** Runs that may have to park when this turn is over. */
  #turn: Few<RunScope> = undefined
  #isTurnSet = false
  #used = 0
  #claiming = 0
  #isServing = false
  #idle: (() => void) | undefined

  constructor(host: Host, options: SlotOptions, events: SlotEvents) {
    this.#host = host
    this.#options = options
    this.#events = events
  }

  /** How many more runs may start here. */
  get room(): number {
    return Math.max(0, this.#options.concurrency - this.#used - this.#claiming)
  }

  get used(): number {
    return this.#used
  }

  /** Calls `listener` once no run holds a slot; at once if none does. */
  whenIdle(listener: () => void): void {
    if (this.#used === 0) listener()
    else this.#idle = listener
  }

  /** A claim for so many runs is out: nobody else gets their slots meanwhile. */
  beginClaim(count: number): void {
    this.#claiming = count
  }

  /** What was claimed has started. */
  endClaim(): void {
    this.#claiming = 0
    this.#resumeWaiting()
  }

  /** A claimed run starts with its slot. */
  take(scope: RunScope): void {
    this.#used += 1
    scope.seat.hold(this.#host.clock, 'executing')
  }

  /** The function goes on to drain its streams: without a slot, but not idle. */
  drain(scope: RunScope): void {
    this.#giveBack(scope)
    scope.seat.hold(this.#host.clock, 'draining')
    this.#serve()
  }

  /** The attempt is over. */
  release(scope: RunScope): void {
    this.#giveBack(scope)
    scope.seat.letGo()
    this.#turn = withoutItem(this.#turn, scope)
    this.#serve()
  }

  /** A wait of this run is registered: if nothing is delivered for a whole turn, the run parks. */
  waitRegistered(scope: RunScope): void {
    if (scope.seat.state !== 'held') return
    this.#turn = withItem(this.#turn, scope)
    this.#setTurn()
  }

  /** Hands a settled wait to its run: at once if it executes, else as soon as it may. */
  deliver(scope: RunScope, delivery: () => void): void {
    if (scope.seat.state === 'held' || scope.seat.state === 'released') {
      scope.seat.wasReleased = true
      delivery()
      return
    }
    scope.seat.keep(delivery)
    if (scope.seat.state === 'parked') this.#resume(scope)
  }

  /** A parked run may go on: it learns what for with its slot. False: it stands elsewhere, and somebody has to ask. */
  wake(scope: RunScope): boolean {
    if (scope.seat.state !== 'parked') return false
    this.#resume(scope)
    return true
  }

  /** Tries again for runs that found all slots of their queue taken by other engines. */
  retry(): void {
    this.#serve()
  }

  #setTurn(): void {
    if (this.#isTurnSet) return
    this.#isTurnSet = true
    this.#host.clock.setTimer(this.#host.now(), () => this.#endTurn(), { label: 'parking', background: true })
  }

  #endTurn(): void {
    this.#isTurnSet = false
    const turn = this.#turn
    this.#turn = undefined
    for (const scope of itemsOf(turn)) {
      if (scope.isEnded || scope.seat.state !== 'held' || scope.seat.registeredWaits === 0) continue
      if (scope.seat.wasReleased) this.#turn = withItem(this.#turn, scope)
      else this.#park(scope)
      scope.seat.wasReleased = false
    }
    if (this.#turn !== undefined && !this.#host.isClosed) this.#setTurn()
  }

  #park(scope: RunScope): void {
    scope.seat.state = 'parking'
    const parked = (record: RunRecord | undefined): void => {
      if (!isStill(scope, 'parking')) return
      if (record === undefined) {
        this.#events.stale(scope)
        return
      }
      scope.seat.state = 'parked'
      this.#used -= 1
      scope.seat.hold(this.#host.clock, 'parked')
      this.#events.changed(scope, record)
      if (scope.seat.hasDeliveries) this.#resume(scope)
      this.#serve()
    }
    this.#ask(scope, () => chain(this.#storePark(scope), parked))
  }

  /** A park that was stored and not acknowledged is found, not repeated; one the run did not wait for is not made. */
  #storePark(scope: RunScope): Awaitable<RunRecord | undefined> {
    const { runs } = this.#host.storage
    return this.#persist(scope, () => {
      if (!isStill(scope, 'parking')) return undefined
      return chain(this.#forgetConsumed(scope), () =>
        chain(runs.park(this.#fence(scope)), (record) => record ?? this.#ownRecord(scope, 'WAITING')),
      )
    })
  }

  #storeResume(scope: RunScope, isHinted: boolean): Awaitable<RunResumed> {
    const { runs } = this.#host.storage
    const queueLimit = this.#options.queueLimit(scope.record.queue)
    return this.#persist<RunResumed>(scope, () => {
      if (!isStill(scope, 'resuming')) return { outcome: 'stale' }
      return chain(runs.resume({ ...this.#fence(scope), queueLimit, isHinted }), (answer) => {
        if (answer.outcome !== 'stale') return answer
        return chain(this.#ownRecord(scope, 'EXECUTING'), (record) =>
          record === undefined ? answer : { outcome: 'resumed' as const, record },
        )
      })
    })
  }

  /** The record of the run, if it is in this status and still this attempt's. */
  #ownRecord({ id, record }: RunScope, status: RunStatus): Awaitable<RunRecord | undefined> {
    return chain(this.#host.storage.runs.get(id), (current) =>
      current?.status === status && current.epoch === record.epoch ? current : undefined,
    )
  }

  #persist<T>(scope: RunScope, store: () => Awaitable<T>): Awaitable<T> {
    const events = { error: (error: unknown) => this.#events.failed(error, scope) }
    return persist({ host: this.#host, events }, scope, store)
  }

  /** A parked run is executed elsewhere once a wait of its is ready: what it has already got must not count. */
  #forgetConsumed({ id, seat }: RunScope): Awaitable<void> {
    if (seat.consumed.length === 0) return
    const { owner } = this.#host
    const waits = seat.consumed.map((tokenId) => ({ tokenId, runId: id, owner }))
    return chain(this.#host.storage.tokens.release(waits), () => {
      seat.forgetConsumed(waits.length)
    })
  }

  #resume(scope: RunScope): void {
    const lane = laneOf(scope)
    if (this.room === 0 || this.#waiting.has(lane) || this.#asking.has(lane)) {
      this.#enqueue(scope)
      return
    }
    this.#askToResume(scope)
  }

  #askToResume(scope: RunScope): void {
    scope.seat.state = 'resuming'
    this.#used += 1
    const lane = laneOf(scope)
    const isHinted = !scope.seat.hasDeliveries
    if (this.#options.queueLimit(scope.record.queue) !== undefined) this.#asking.set(lane, false)
    this.#ask(scope, () =>
      chain(this.#storeResume(scope, isHinted), (answer) => {
        const isFreed = this.#asking.get(lane) === true
        this.#asking.delete(lane)
        if (isStill(scope, 'resuming')) this.#resumed(scope, answer, isHinted)
        if (answer.outcome !== 'full' || isFreed) this.#resumeWaiting()
      }),
    )
  }

  #resumed(scope: RunScope, answer: RunResumed, isHinted: boolean): void {
    if (answer.outcome === 'resumed') {
      scope.seat.state = 'held'
      scope.seat.hold(this.#host.clock, 'executing')
      this.#events.changed(scope, answer.record)
      scope.seat.wasReleased = true
      scope.seat.deliverAll()
      if (isHinted) this.#events.woken(answer.tokens)
      if (scope.seat.registeredWaits > 0) this.waitRegistered(scope)
      return
    }
    this.#used -= 1
    if (answer.outcome === 'full') this.#enqueue(scope, 'first')
    else this.#events.stale(scope)
  }

  #enqueue(scope: RunScope, place: 'first' | 'last' = 'last'): void {
    scope.seat.state = 'queued'
    const lane = laneOf(scope)
    const waiting = this.#waiting.get(lane)
    if (waiting === undefined) this.#waiting.set(lane, [scope])
    else if (place === 'first') waiting.unshift(scope)
    else waiting.push(scope)
  }

  /** Gives free slots to runs that can go on, then to new ones. */
  #serve(): void {
    for (const lane of this.#asking.keys()) this.#asking.set(lane, true)
    this.#resumeWaiting()
    if (this.#used === 0) this.#idle?.()
    if (this.room > 0) this.#events.freed()
  }

  #resumeWaiting(): void {
    // Storage may answer within the call: the loop that is under way goes on with what is next.
    if (this.#isServing) return
    this.#isServing = true
    for (const [lane, waiting] of this.#waiting) {
      while (this.room > 0 && waiting.length > 0 && !this.#asking.has(lane)) {
        const scope = waiting.shift()
        if (scope === undefined || scope.isEnded || scope.seat.state !== 'queued') continue
        this.#askToResume(scope)
        if (isRefused(scope)) break
      }
      if (waiting.length === 0) this.#waiting.delete(lane)
    }
    this.#isServing = false
  }

  #giveBack(scope: RunScope): void {
    if (scope.seat.state === 'held' || scope.seat.state === 'parking' || scope.seat.state === 'resuming')
      this.#used -= 1
    scope.seat.state = 'released'
  }

  #fence(scope: RunScope): { id: string; epoch: number; by: string; now: number } {
    return { id: scope.id, epoch: scope.record.epoch, by: this.#host.owner, now: this.#host.now() }
  }

  #ask(scope: RunScope, question: () => unknown): void {
    try {
      const answer = question()
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#failed(error, scope))
    } catch (error) {
      this.#failed(error, scope)
    }
  }

  #failed(error: unknown, scope: RunScope): void {
    if (!this.#host.isClosed) this.#events.failed(error, scope)
  }
}

/** Whether what storage was asked for is still wanted: the run may have returned or ended meanwhile. */
function isStill(scope: RunScope, state: SeatState): boolean {
  return !scope.isEnded && scope.seat.state === state
}

/** Asked for a slot and put back in line, as storage can answer within the call. */
function isRefused(scope: RunScope): boolean {
  return scope.seat.state === 'queued'
}

function laneOf(scope: RunScope): string {
  const { queue, concurrencyKey } = scope.record
  return concurrencyKey === undefined ? queue : `${queue}\n${concurrencyKey}`
}
