import type { CancelTimer } from '../../contract/clock.ts'
import { type Deadline, DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import type { Pulse } from './pulse.ts'
import { TimerCallback } from '../timer-callback.ts'
import type { WaitedToken } from './wait-graph.ts'
import type { WitnessedDeadline, WitnessedTimer } from './witnessed.ts'

const REMEMBERED_FIRINGS = 20

/** A timer of a test clock that has fired. */
export interface FiredTimer {
  /** The instant it fired at, in epoch milliseconds. */
  readonly at: number
  readonly label: string
  /** Upkeep, which nobody waits for. */
  readonly background: boolean
}

/** A timer of a test clock that has not fired yet, or a deadline of a token that a timer stands for. */
export interface PendingTimer {
  /** The instant it is due at, in epoch milliseconds. */
  readonly at: number
  readonly label: string
  /** Upkeep, which nobody waits for. */
  readonly background: boolean
  /** The instant it was set at. */
  readonly setAt: number
  /** The token that times out then, or whose sleep ends; only under a fixture. */
  readonly tokenId?: string
  /** Whom it is for, and where that was made; only under a fixture, and not for every timer. */
  readonly whom?: string
  /** Where it was set; empty for upkeep. Of a token, the first line of user code that led to it. */
  readonly stack: string
}

/** The timers of a test clock, and its instant, which moves only here. */
export class VirtualTimers {
  readonly #queue = new DeadlineQueue<VirtualTimer>()
  /** What the queue holds, in order of creation: a queue cannot be listed. */
  readonly #pending = new Set<Deadline<VirtualTimer>>()
  readonly #fired = new RingBuffer<FiredTimer>({ capacity: REMEMBERED_FIRINGS })
  readonly #pulse: Pulse
  #now: number
  #foreground = 0

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

  /** The token that would be forgotten if the next timer that somebody waits for fired, unless that is after `limit`. */
  forgottenBy(limit: number): WaitedToken | undefined {
    const next = this.#nextForeground
    return next === undefined || next.at > limit ? undefined : next.value.about.forgotten?.()
  }

  /** In the order in which they would fire, with every deadline that one of them stands for. */
  get pending(): readonly PendingTimer[] {
    const deadlines = this.#deadlines()
    const timers = Array.from(this.#pending, describe).filter(({ label }) => !deadlines.has(label))
    return [...timers, ...deadlines.values()].sort((one, other) => one.at - other.at)
  }

  /** The last ones, oldest first. */
  get fired(): readonly FiredTimer[] {
    return this.#fired.read(this.#fired.first, REMEMBERED_FIRINGS)
  }

  set(at: number, fire: () => void, about: WitnessedTimer = { label: 'timer' }): CancelTimer {
    const deadline = this.#queue.add(at, new VirtualTimer(fire, about, this.#now))
    this.#pending.add(deadline)
    if (deadline.value.about.background !== true) this.#foreground += 1
    this.#pulse.beat()
    return () => {
      if (this.#queue.cancel(deadline)) this.#forget(deadline)
    }
  }

  /** Fires the earliest timer if it is due now. */
  fireDue(): FiredTimer | undefined {
    const due = this.#queue.popDue(this.#now)
    return due === undefined ? undefined : this.#fire(due)
  }

  /** Moves on to the earliest timer and fires it, unless it is after `limit`. Only while nothing is due. */
  fireNext(limit: number = Infinity): FiredTimer | undefined {
    const next = this.#queue.popDue(limit)
    if (next === undefined) return undefined
    // Instants are whole milliseconds, and a timer is never early.
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

  /** Each once, whatever number of engines meets it, by its label. */
  #deadlines(): ReadonlyMap<string, PendingTimer> {
    const deadlines = new Map<string, PendingTimer>()
    for (const { at, value } of this.#pending) {
      for (const deadline of value.about.deadlines?.() ?? []) {
        // Of what is due before the timer somebody has taken care whom the fixture does not know.
        if (deadline.at < at) continue
        const timer = describeDeadline(deadline)
        deadlines.set(timer.label, timer)
      }
    }
    return deadlines
  }

  /** Looks at all timers only when upkeep comes first. */
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

class VirtualTimer {
  readonly callback: TimerCallback
  readonly about: WitnessedTimer
  readonly setAt: number
  /** Turned into text only when somebody reads it. Upkeep has none: it is set over and over by the same line. */
  readonly trace: Error | undefined

  constructor(fire: () => void, about: WitnessedTimer, setAt: number) {
    this.callback = new TimerCallback(fire)
    this.about = about
    this.setAt = setAt
    this.trace = about.background === true ? undefined : new Error('set here')
  }
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
