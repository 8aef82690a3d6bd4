import { AsyncResource } from 'node:async_hooks'
import type { CancelTimer, Clock, ReleaseHold } from '../contract/clock.ts'
import { type Deadline, DeadlineQueue } from '../primitives/deadline-queue.ts'
import { TimerCallback } from './timer-callback.ts'

/** The longest delay of an OS timer that only keeps the process alive. A longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1
/** A turn of the event loop is due after so long. A slice of work is seen to begin up to this much late. */
const SLICE_MS = 5

/**
 * The longest delay of an OS timer while something is timed. OS timers go by a monotonic clock, which stands still while
 * the machine is suspended and hears of no change of the wall clock: a timer is late by so much at most after a jump.
 */
const LOOK_MS = 10_000

/**
 * The clock of production: wall time, and one OS timer for all timers together. When the wall clock jumps, as it does
 * after a machine was suspended, timers that are due by then fire with the next timer that is set, and within 10 s.
 *
 * `Date.now`, `setTimeout` and `setImmediate` are looked up at each call, so fake timers that replace the globals work.
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
  /** OS handles are created in the async context of the clock, so that they do not retain the context of a run. */
  readonly #outside = new AsyncResource('waitpoint.clock')
  #osTimer: NodeJS.Timeout | undefined
  /** The instant of the OS timer; `Infinity` if there is no timer, or if it only keeps the process alive. */
  #wakeAt = Infinity
  #turn: NodeJS.Immediate | undefined
  #holds = 0
  /** The offset of this clock from the machine's clock, in milliseconds. */
  #offset = 0
  /** The end of the slice of work that was seen to begin last, by `performance.now()`. */
  #sliceEnd = 0
  /** No turn of the event loop has passed since that slice began. */
  #isSameTurn = false

  now(): number {
    return Date.now() + this.#offset
  }

  /** Fires the timers that the change makes due, and resets the OS timer. */
  adjust(byMs: number): void {
    this.#offset += byMs
    this.#disarm()
    this.#watch(this.now())
  }

  /** Hot: asked for every claim of runs. A turn of the event loop is looked for once in a slice. */
  isTurnDue(): boolean {
    const now = performance.now()
    if (now < this.#sliceEnd) return false
    if (this.#isSameTurn) return true
    this.#sliceEnd = now + SLICE_MS
    this.#isSameTurn = true
    this.#outside.runInAsyncScope(setImmediate, undefined, this.#turnPassed)
    return false
  }

  readonly #turnPassed = (): void => {
    this.#isSameTurn = false
  }

  setTimer(at: number, fire: () => void): CancelTimer {
    const deadline = this.#timers.add(at, { callback: new TimerCallback(fire), isCanceled: false })
    this.#watch(this.now())
    return () => this.#cancel(deadline)
  }

  /** Hot: called twice for every wait. It counts, and calls `ref` or `unref` on the existing timer. */
  hold(): ReleaseHold {
    if (this.#holds++ === 0) {
      if (this.#osTimer === undefined) this.#arm(Infinity, LONGEST_DELAY_MS)
      // Otherwise the scheduled turn does it.
      else if (this.#turn === undefined) this.#osTimer.ref()
    }
    return this.#release
  }

  /** Releases any hold; holds are only counted. */
  readonly #release = (): void => {
    this.#holds -= 1
    if (this.#holds === 0) this.#takeTurn()
  }

  #cancel(deadline: Deadline<Timer>): void {
    deadline.value.isCanceled = true
    if (this.#timers.cancel(deadline)) this.#tidy()
  }

  /**
   * Removes the OS timer when no timer is left. It waits for the end of the turn, because a new timer often follows.
   */
  #tidy(): void {
    if (this.#timers.size === 0 && this.#holds === 0) this.#takeTurn()
  }

  /** Not unref'd, or the event loop would end before it. Due timers still fire before the process may exit. */
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
   * Fires the due timers. A timer set by one of these callbacks waits for the next turn. Due means by `now()`, not by
   * the OS timer, which may fire a millisecond early, or hours early after the wall clock was set back.
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

  /** Sets an OS timer for the earliest timer, if there is none yet. */
  #watch(now: number): void {
    const earliest = this.#timers.peek()
    if (earliest === undefined) {
      if (this.#holds === 0) this.#disarm()
      else if (this.#osTimer === undefined) this.#arm(Infinity, LONGEST_DELAY_MS)
    } else if (earliest.at <= now) {
      this.#takeTurn()
    } else if (earliest.at < this.#wakeAt || this.#wakeAt <= now) {
      // The wall clock may have overtaken the OS timer, which is then of no use: see LOOK_MS.
      const delayMs = Math.min(Math.ceil(earliest.at - now), LOOK_MS)
      this.#arm(now + delayMs, delayMs)
    }
  }
}
