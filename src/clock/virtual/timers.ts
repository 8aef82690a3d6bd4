import type { CancelTimer } from '../../contract/clock.ts'
import { type Deadline, DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import type { Pulse } from './pulse.ts'
import { TimerCallback } from '../timer-callback.ts'
import type { WaitedToken } from './wait-graph.ts'
import type { WitnessedDeadline, WitnessedTimer } from './witnessed.ts'

const REMEMBERED_FIRINGS = 20
/** A stack is dear: those of so many timers are kept. */
const KEPT_STACKS = 300

/** A timer of a test clock that has fired. */
export interface FiredTimer {
  /** The instant at which it fired, in epoch milliseconds. */
  readonly at: number
  readonly label: string
  /** Upkeep; no caller waits for it. */
  readonly background: boolean
}

/** A scheduled timer of a test clock, or the deadline of a token that such a timer covers. */
export interface PendingTimer {
  /** The instant at which it is due, in epoch milliseconds. */
  readonly at: number
  readonly label: string
  /** Upkeep; no caller waits for it. */
  readonly background: boolean
  /** The instant at which it was set. */
  readonly setAt: number
  /** The token that then times out, or whose sleep ends. Only under a fixture. */
  readonly tokenId?: string
  /** The waiting run or caller, with the place of its origin. Only under a fixture, and not for every timer. */
  readonly whom?: string
  /**
   * The stack of the call that set the timer; empty for upkeep, for timers with a `whom`, and after the first 300 timers. For
   * a token: the first line of user code.
   */
  readonly stack: string
}

/** The timers of a test clock, and its current instant, which changes only here. */
export class VirtualTimers {
  readonly #queue = new DeadlineQueue<VirtualTimer>()
  /** The members of the queue in order of creation, because a queue cannot be listed. */
  readonly #pending = new Set<Deadline<VirtualTimer>>()
  readonly #fired = new RingBuffer<FiredTimer>({ capacity: REMEMBERED_FIRINGS })
  readonly #pulse: Pulse
  #now: number
  #foreground = 0
  #stacks = 0

  constructor({ start, pulse }: { readonly start: number; readonly pulse: Pulse }) {
    this.#now = start
    this.#pulse = pulse
  }

  get now(): number {
    return this.#now
  }

  get isDue(): boolean {
    const earliest = this.#queue.peek()
    return earliest !== undefined && earliest.at <= this.#now
  }

  /** Whether a timer is left that a run or a caller waits for. */
  get hasForeground(): boolean {
    return this.#foreground > 0
  }

  /**
   * The token whose answer is forgotten if the next foreground timer fires; `undefined` if that timer is after `limit`.
   */
  forgottenBy(limit: number): WaitedToken | undefined {
    const next = this.#nextForeground
    return next === undefined || next.at > limit ? undefined : next.value.about.forgotten?.()
  }

  /** In firing order, with every deadline that a timer covers. */
  get pending(): readonly PendingTimer[] {
    const deadlines = this.#deadlines()
    const timers = Array.from(this.#pending, describe).filter(({ label }) => !deadlines.has(label))
    return [...timers, ...deadlines.values()].sort((one, other) => one.at - other.at)
  }

  /** The last fired timers, oldest first. */
  get fired(): readonly FiredTimer[] {
    return this.#fired.read(this.#fired.first, REMEMBERED_FIRINGS)
  }

  set(at: number, fire: () => void, about: WitnessedTimer = { label: 'timer' }): CancelTimer {
    const trace = this.#isTraced(about) ? new Error('set here') : undefined
    const deadline = this.#queue.add(at, {
      callback: new TimerCallback(fire),
      about,
      setAt: this.#now,
      trace,
    })
    this.#pending.add(deadline)
    if (about.background !== true) this.#foreground += 1
    this.#pulse.beat()
    return () => {
      if (this.#queue.cancel(deadline)) this.#forget(deadline)
    }
  }

  /** Upkeep needs no stack, because the same line sets it over and over; that of an engine tells whom it is for. */
  #isTraced(about: WitnessedTimer): boolean {
    const isTold = about.background === true || about.whom !== undefined
    if (isTold || this.#stacks === KEPT_STACKS) return false
    this.#stacks += 1
    return true
  }

  /** Fires the earliest timer if it is due. */
  fireDue(): FiredTimer | undefined {
    const due = this.#queue.popDue(this.#now)
    return due === undefined ? undefined : this.#fire(due)
  }

  /** Moves on to the earliest timer and fires it, unless it is after `limit`. Requires that no timer is due. */
  fireNext(limit: number = Infinity): FiredTimer | undefined {
    const next = this.#queue.popDue(limit)
    if (next === undefined) return undefined
    // Instants are whole milliseconds, and a timer never fires early.
    this.#now = Math.ceil(next.at)
    return this.#fire(next)
  }

  moveTo(instant: number): void {
    this.#now = instant
  }

  clear(): void {
    for (const deadline of this.#pending) {
      this.#queue.cancel(deadline)
      this.#forget(deadline)
    }
  }

  /** The deadlines by label. Engines that share a storage report the same deadline, which is listed once. */
  #deadlines(): ReadonlyMap<string, PendingTimer> {
    const deadlines = new Map<string, PendingTimer>()
    for (const { at, value } of this.#pending) {
      for (const deadline of value.about.deadlines?.() ?? []) {
        // For a deadline before the timer, the caller has other means than the fixture knows.
        if (deadline.at < at) continue
        const timer = describeDeadline(deadline)
        deadlines.set(timer.label, timer)
      }
    }
    return deadlines
  }

  /** Searches all timers only when the earliest one is upkeep. */
  get #nextForeground(): Deadline<VirtualTimer> | undefined {
    let next = this.#queue.peek()
    if (next?.value.about.background !== true) return next
    next = undefined
    for (const deadline of this.#pending) {
      if (deadline.value.about.background === true) continue
      if (next === undefined || deadline.at < next.at) next = deadline
    }
    return next
  }

  #fire(deadline: Deadline<VirtualTimer>): FiredTimer {
    this.#forget(deadline)
    const { callback, about } = deadline.value
    const { label, background = false } = about
    const fired: FiredTimer = { at: this.#now, label, background }
    this.#fired.push(fired)
    callback.run()
    return fired
  }

  #forget(deadline: Deadline<VirtualTimer>): void {
    this.#pending.delete(deadline)
    if (deadline.value.about.background !== true) this.#foreground -= 1
  }
}

interface VirtualTimer {
  readonly callback: TimerCallback
  readonly about: WitnessedTimer
  readonly setAt: number
  /** Turned into text only on demand. */
  readonly trace: Error | undefined
}

function describeDeadline({ tokenId, at, createdAt, whom, origin }: WitnessedDeadline): PendingTimer {
  const label = `deadline of token ${tokenId}`
  return { at, label, background: false, setAt: createdAt, tokenId, whom, stack: origin }
}

function describe({ at, value }: Deadline<VirtualTimer>): PendingTimer {
  const { about, setAt, trace } = value
  const { label, background = false } = about
  const whom = about.whom?.()
  return {
    at: Math.ceil(at),
    label,
    background,
    setAt,
    ...(whom === undefined ? {} : { whom }),
    stack: trace?.stack ?? '',
  }
}
