import { systemClock } from '../../src/clock/system.ts'
import type { Clock } from '../../src/contract/clock.ts'

/** The system clock, but a turn of the event loop is due whenever it was asked about so often without one. */
export function impatientClock(questions: number): Clock {
  const clock = systemClock()
  let left = questions
  let isWatched = false
  return {
    now: () => clock.now(),
    setTimer: (at, fire) => clock.setTimer(at, fire),
    hold: (hold) => clock.hold?.(hold) ?? (() => undefined),
    isTurnDue() {
      if (!isWatched) {
        isWatched = true
        setImmediate(() => {
          left = questions
          isWatched = false
        })
      }
      left -= 1
      return left <= 0
    },
  }
}
