// Bound when this module loads, so that fake timers installed later do not stop the turns.
import { setImmediate } from 'node:timers'
import type { Clock } from '../contract/clock.ts'

/** A clock that stands still. A timer that is due fires a turn of the event loop later; any other never fires. */
export function stoppedClock(now: number): Clock {
  return {
    now: () => now,
    setTimer(at, fire) {
      let isCanceled = at > now
      if (!isCanceled)
        setImmediate(() => {
          if (!isCanceled) fire()
        })
      return () => {
        isCanceled = true
      }
    },
  }
}
