import type { Step } from './schedule-record.ts'
import type { Choose, Decision, Trace } from './trace.ts'

/**
 * Makes every nondeterministic decision, one schedule after the other: the next ready boundary, the order of timers,
 * the passing of time, the failure of a call, the death of the process.
 */
export interface Decider {
  /** Begins the next schedule; `undefined` when none is left. */
  begin(): Choose | undefined
  /** Called with the decisions and the steps of a schedule, in order. Without the steps `enumerate` skips none, and tries no slow calls. */
  end?(decisions: readonly Decision[], steps?: readonly Step[]): void
  /** The minimum number of deviations in the current schedule. */
  readonly depth?: number
  /** The deviations that its schedule must have: the exploration fails if one of them did not happen. */
  readonly trace?: Trace
  /** The seed of random decisions. */
  readonly seed?: number | string
  /** Whether it ends exactly when all schedules within its bound have been tried. */
  readonly isExhaustive: boolean
}

/** The one schedule in which everything happens in order of arrival. */
export function fifo(): Decider {
  return replay([])
}

/**
 * The one schedule that is FIFO except for these deviations, each at the first opportunity. An exploration fails if one
 * of them has none.
 */
export function replay(trace: Trace): Decider {
  let isLeft = true
  return {
    isExhaustive: false,
    depth: trace.length,
    trace,
    begin() {
      if (!isLeft) return undefined
      isLeft = false
      return following(trace)
    },
  }
}

/** Takes each deviation at the first opportunity. */
export function following(trace: Trace): Choose {
  if (trace.length === 0) return () => 0
  const left = [...trace]
  return ({ kind, at, options }) => {
    for (const [place, deviation] of left.entries()) {
      if (deviation.kind !== kind || deviation.at !== at) continue
      const index = options.indexOf(deviation.take)
      if (index <= 0) continue
      left.splice(place, 1)
      return index
    }
    return 0
  }
}
