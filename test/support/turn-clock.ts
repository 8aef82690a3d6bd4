import type { HoldingClock } from '../../src/contract/clock.ts'
import { macrotaskTurn } from '../../src/clock/macrotask-turn.ts'
import { TimerCallback } from '../../src/clock/timer-callback.ts'
import { loadAll } from '../../src/core/all-loaded.ts'
import { DeadlineQueue } from '../../src/primitives/deadline-queue.ts'
import { statements } from '../../src/testing/storages/statements.ts'

/** A clock in virtual time that goes on turn by turn, and tells nothing: for tests that need thousands of engines. */
export interface TurnClock extends HoldingClock {
  /** Some turns of the event loop, each with the timers that are due. */
  turns(count: number): Promise<void>
  /** Turns until one passes in which nothing happened, no timer is due and no call is out. */
  settle(): Promise<void>
  /** Moves time on; every timer on the way fires at its own instant, and code comes to rest after it. */
  advance(ms: number): Promise<void>
  /** Moves time on and fires nothing: later instants differ from earlier ones. */
  pass(ms: number): void
}

const START = Date.UTC(2030, 0, 1)

/** @param isTicking Every look at the clock is a millisecond later than the one before: no two instants are equal. */
export function turnClock(isTicking = false): TurnClock {
  // A turn does not wait for a disk.
  loadAll()
  const timers = new DeadlineQueue<TimerCallback>()
  let now = START
  let beats = 0
  let calls = 0

  const turn = async (): Promise<void> => {
    await macrotaskTurn()
    if (statements.isUnderWay) await statements.ended()
    const due = timers.popDue(now)
    if (due === undefined) return
    beats += 1
    due.value.run()
  }
  const settle = async (): Promise<void> => {
    for (let before = -1; before !== beats || calls > 0;) {
      before = beats
      await turn()
    }
  }
  return {
    now: () => (isTicking ? (now += 1) : now),
    setTimer: (at, fire) => {
      beats += 1
      const timer = timers.add(at, new TimerCallback(fire))
      return () => void timers.cancel(timer)
    },
    hold: ({ kind }) => {
      beats += 1
      if (kind !== 'call') return () => void (beats += 1)
      calls += 1
      return () => {
        beats += 1
        calls -= 1
      }
    },
    settle,
    async turns(count) {
      for (let left = count; left > 0; left -= 1) await turn()
    },
    async advance(ms) {
      const target = now + ms
      await settle()
      for (let next = timers.peek(); next !== undefined && next.at <= target; next = timers.peek()) {
        now = Math.max(now, Math.ceil(next.at))
        await settle()
      }
      now = Math.max(now, target)
    },
    pass: (ms) => void (now += ms),
  }
}
