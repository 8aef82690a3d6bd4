import { AsyncResource } from 'node:async_hooks'
import type { CancelTimer, Clock, ReleaseHold } from '../contract/clock.ts'
import { type Deadline, DeadlineQueue } from '../primitives/deadline-queue.ts'
import { TimerCallback } from './timer-callback.ts'

/** The longest delay an OS timer takes; a longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/**
 * The clock of production: wall time, and one OS timer for all timers together.
 *
 * `Date.now`, `setTimeout` and `setImmediate` are looked up when called, so fake timers that replace the globals work.
 * A callback that throws reaches `uncaughtException` and does not stop the others.
 */
export function systemClock(): Clock {
  return new SystemClock()
}

interface Timer {
  readonly callback: TimerCallback
  isCanceled: boolean
}

class SystemClock implements Clock {
  readonly #timers = new DeadlineQueue<Timer>()
  /** The OS handles are made in the context of the clock: they must not hold on to the one of a run. */
  readonly #outside = new AsyncResource('waitpoint.clock')
  #osTimer: NodeJS.Timeout | undefined
  /** The instant the OS timer is for; `Infinity` when there is none, or when it only keeps the process alive. */
  #wakeAt = Infinity
  #turn: NodeJS.Immediate | undefined
  #holds = 0
  /** How far it is ahead of the machine's. */
  #offset = 0

  now(): number {
    return Date.now() + this.#offset
  }

  /** What became due by it is fired, and the OS timer set anew. */
  adjust(byMs: number): void {
    this.#offset += byMs
    this.#disarm()
    this.#watch(this.now())
  }

  setTimer(at: number, fire: () => void): CancelTimer {
    const deadline = this.#timers.add(at, { callback: new TimerCallback(fire), isCanceled: false })
    this.#watch(this.now())
    return () => this.#cancel(deadline)
  }

  /** Hot, twice for every wait: a count, and `ref` and `unref` of the timer that is there anyway. */
  hold(): ReleaseHold {
    if (this.#holds++ === 0) {
      if (this.#osTimer === undefined) this.#arm(Infinity, LONGEST_DELAY_MS)
      // Else the turn that is to come sees to it.
      else if (this.#turn === undefined) this.#osTimer.ref()
    }
    return this.#release
  }

  /** The end of any hold: they are only counted. */
  readonly #release = (): void => {
    this.#holds -= 1
    if (this.#holds === 0) this.#takeTurn()
  }

  #cancel(deadline: Deadline<Timer>): void {
    deadline.value.isCanceled = true
    if (this.#timers.cancel(deadline)) this.#tidy()
  }

  /** Nothing left: the OS timer goes too, but not before the end of the turn, where there often is something again. */
  #tidy(): void {
    if (this.#timers.size === 0 && this.#holds === 0) this.#takeTurn()
  }

  /** Not unref'd: the event loop would fall asleep on it. What is due still happens before the process may end. */
  #takeTurn(): void {
    if (this.#turn !== undefined) return
    this.#turn = this.#outside.runInAsyncScope(() =>
      setImmediate(() => {
        this.#turn = undefined
        this.#drain()
        if (this.#holds === 0) this.#osTimer?.unref()
        else this.#osTimer?.ref()
      }),
    )
  }

  #arm(wakeAt: number, delayMs: number): void {
    this.#disarm()
    this.#wakeAt = wakeAt
    const osTimer = this.#outside.runInAsyncScope(() =>
      setTimeout(() => {
        this.#disarm()
        this.#drain()
      }, delayMs),
    )
    if (this.#holds === 0) osTimer.unref()
    this.#osTimer = osTimer
  }

  #disarm(): void {
    if (this.#osTimer !== undefined) clearTimeout(this.#osTimer)
    this.#osTimer = undefined
    this.#wakeAt = Infinity
  }

  /**
   * Fires what is due. Only that: a timer that is set by one of these callbacks waits for the next turn. Due means by
   * `now()`, not by the OS timer, which may be a millisecond early, or hours when the wall clock was set back.
   */
  #drain(): void {
    const now = this.now()
    const due: Timer[] = []
    for (let next = this.#timers.popDue(now); next !== undefined; next = this.#timers.popDue(now)) {
      due.push(next.value)
    }
    for (const timer of due) {
      if (!timer.isCanceled) timer.callback.run()
    }
    this.#watch(now)
  }

  /** Makes sure that something wakes us up for the earliest timer. */
  #watch(now: number): void {
    const earliest = this.#timers.peek()
    if (earliest === undefined) {
      if (this.#holds === 0) this.#disarm()
      else if (this.#osTimer === undefined) this.#arm(Infinity, LONGEST_DELAY_MS)
    } else if (earliest.at <= now) {
      this.#takeTurn()
    } else if (earliest.at < this.#wakeAt) {
      this.#arm(earliest.at, Math.min(Math.ceil(earliest.at - now), LONGEST_DELAY_MS))
    }
  }
}
