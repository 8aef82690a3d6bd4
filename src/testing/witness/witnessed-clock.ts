import type { HoldingClock } from '../../contract/clock.ts'
import type { TestClock } from '../../clock/test.ts'
import { captureOrigin } from './origin.ts'
import type { Witness } from './witness.ts'

/** The clock as an engine under a fixture sees it: its timers and holds carry what the witness knows of them. */
export function witnessedClock(clock: TestClock, witness: Witness): HoldingClock {
  return {
    now: () => clock.now(),
    setTimer(at, fire, about = { label: 'timer' }) {
      if (about.background === true) return clock.setTimer(at, fire, about)
      // Labels end with what they are about.
      const id = about.label.slice(about.label.lastIndexOf(' ') + 1)
      return clock.setTimer(at, fire, {
        ...about,
        whom: () => witness.whom(id),
        ...(about.label.startsWith('deadline of') ? { deadlines: () => witness.deadlines() } : {}),
        forgotten: () => witness.forgottenBy(at),
      })
    },
    hold(hold) {
      const { id, kind } = hold
      return clock.hold({
        ...hold,
        run: () => witness.run(id),
        lastBoundary: () => witness.lastBoundary(id),
        ...(kind === 'awaited' ? { origin: captureOrigin() } : {}),
      })
    },
  }
}
