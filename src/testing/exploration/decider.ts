import type { Choose, Decision, Trace } from './trace.ts'

/**
 * Decides everything nondeterministic, one schedule after the other: which ready boundary goes next, which of several
 * timers, whether time passes meanwhile, whether a call fails, whether the process dies.
 */
export interface Decider {
  /** The next schedule; none when there is nothing left to try. */
  begin(): Choose | undefined
  /** Told what was decided in it, in order. */
  end?(decisions: readonly Decision[]): void
  /** How many deviations the schedule that was begun last has at least. */
  readonly depth?: number
  /** What it draws from, if it draws. */
  readonly seed?: number | string
  /** Whether it ends when it has tried every schedule there is with so many deviations, and not before. */
  readonly isExhaustive: boolean
}

/** The schedule in which everything goes in the order in which it came. */
export function fifo(): Decider {
  return replay([])
}

/** One schedule: FIFO but for these deviations, each of which applies once, in their order, or not at all. */
export function replay(trace: Trace): Decider {
  let isLeft = true
  return {
    isExhaustive: false,
    depth: trace.length,
    begin() {
      if (!isLeft) return undefined
      isLeft = false
      return following(trace)
    },
  }
}

/** Takes each deviation the first time it applies. */
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
