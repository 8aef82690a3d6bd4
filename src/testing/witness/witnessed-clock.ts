import type { Hold, HoldingClock } from '../../contract/clock.ts'
import type { TestClock } from '../../clock/test.ts'
import type { WaitedToken, WaitingRun } from '../../clock/virtual/wait-graph.ts'
import type { WitnessedDeadline, WitnessedHold, WitnessedTimer } from '../../clock/virtual/witnessed.ts'
import type { Origin } from './origin.ts'
import type { Witness } from './witness.ts'

/** The clock of an engine under a fixture. Its timers and holds carry details from the witness. */
export function witnessedClock(clock: TestClock, witness: Witness): HoldingClock {
  return {
    now: () => clock.now(),
    isTurnDue: (runId) => clock.isTurnDue?.(runId) === true,
    setTimer(at, fire, about = { label: 'timer' }) {
      if (about.background === true) return clock.setTimer(at, fire, about)
      return clock.setTimer(at, fire, new EngineTimer(witness, about.label, at))
    },
    hold(hold) {
      const { id, kind, watched } = hold
      const origin = kind === 'awaited' ? witness.origins.capture() : undefined
      const release = clock.hold(new EngineHold(witness, hold, origin))
      if (watched === undefined) return release
      const ended = witness.watches(id, watched)
      return () => {
        ended()
        release()
      }
    },
  }
}

/** A timer of an engine that a run or a caller waits for. */
class EngineTimer implements WitnessedTimer {
  readonly #witness: Witness
  readonly label: string
  readonly #at: number

  constructor(witness: Witness, label: string, at: number) {
    this.#witness = witness
    this.label = label
    this.#at = at
  }

  whom(): string | undefined {
    // Labels end with the id of their object.
    return this.#witness.whom(this.label.slice(this.label.lastIndexOf(' ') + 1))
  }

  deadlines(): Iterable<WitnessedDeadline> {
    return this.label.startsWith('deadline of') ? this.#witness.deadlines() : []
  }

  forgotten(): WaitedToken | undefined {
    return this.#witness.forgottenBy(this.#at)
  }
}

class EngineHold implements WitnessedHold {
  readonly #witness: Witness
  readonly kind: Hold['kind']
  readonly id: string
  readonly fail?: (error: Error) => void
  readonly origin: Origin | undefined

  constructor(witness: Witness, { kind, id, fail }: Hold, origin: Origin | undefined) {
    this.#witness = witness
    this.kind = kind
    this.id = id
    if (fail !== undefined) this.fail = fail
    this.origin = origin
  }

  run(): WaitingRun | undefined {
    return this.#witness.run(this.id)
  }

  lastBoundary(): string | undefined {
    return this.#witness.lastBoundary(this.id)
  }
}
