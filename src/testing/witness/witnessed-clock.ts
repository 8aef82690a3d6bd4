import type { HoldingClock } from '../../contract/clock.ts'
import type { TestClock } from '../../clock/test.ts'
import type { Witness } from './witness.ts'

/** The clock of an engine under a fixture. Its timers and holds carry details from the witness. */
export function witnessedClock(clock: TestClock, witness: Witness): HoldingClock {
  return {
    now: () => clock.now(),
    isTurnDue: (runId) => clock.isTurnDue?.(runId) === true,
    setTimer(at, fire, about = { label: 'timer' }) {
      if (about.background === true) return clock.setTimer(at, fire, about)
      // Labels end with the id of their object.
      const id = about.label.slice(about.label.lastIndexOf(' ') + 1)
      return clock.setTimer(at, fire, {
        ...about,
        whom: () => witness.whom(id),
        ...(about.label.startsWith('deadline of') ? { deadlines: () => witness.deadlines() } : {}),
        forgotten: () => witness.forgottenBy(at),
      })
    },
    hold(hold) {
      const { id, kind, watched } = hold
      const ended = watched === undefined ? undefined : witness.watches(id, watched)
      const release = clock.hold({
        ...hold,
        run: () => witness.run(id),
        lastBoundary: () => witness.lastBoundary(id),
        ...(kind === 'awaited' ? { origin: witness.origins.capture() } : {}),
      })
      if (ended === undefined) return release
      return () => {
        ended()
        release()
      }
    },
  }
}
