import { renderStory, renderTrace } from './story.ts'
import type { ScheduleReport } from './schedule.ts'
import { formatTrace, type Trace } from './trace.ts'
import { type Invariant, InvariantViolation } from './violation.ts'

/** A schedule that fails, shrunk. */
export interface FailedSchedule {
  readonly trace: Trace
  readonly report: ScheduleReport
  /** Which schedule it was, from 1. */
  readonly run: number
  /** How many deviations it had before it was shrunk. */
  readonly deviationsBefore: number
  /** What the schedules were drawn from, if they were. */
  readonly seed?: number | string | undefined
}

/** A schedule was found in which something does not hold. The message tells what happened and how to see it again. */
export class ExplorationError extends Error {
  readonly code = 'ERR_EXPLORATION_FAILED'
  readonly invariant: Invariant
  /** The schedule, as departures from FIFO. */
  readonly trace: Trace
  /** The same as one line, for the option `replay` and for `WAITPOINT_REPLAY`. */
  readonly replay: string
  /** Which schedule failed, from 1. */
  readonly run: number
  /** What the schedules were drawn from; none when they were enumerated or replayed. */
  readonly seed: number | string | undefined

  constructor(failed: FailedSchedule) {
    const { trace, report, run, seed } = failed
    const cause = report.failure?.error
    super(describe(failed), { cause })
    this.name = 'ExplorationError'
    this.invariant = invariantOf(cause)
    this.trace = trace
    this.replay = formatTrace(trace)
    this.run = run
    this.seed = seed
  }
}

/** Which invariant it is that an error says does not hold. */
export function invariantOf(error: unknown): Invariant {
  return error instanceof InvariantViolation ? error.invariant : 'the body holds'
}

function describe({ trace, report, run, deviationsBefore, seed }: FailedSchedule): string {
  const cause = report.failure?.error
  const replay = formatTrace(trace)
  const shrunk = deviationsBefore > trace.length ? `, shrunk from ${deviationsBefore}` : ''
  return [
    `Schedule ${run} fails: ${invariantOf(cause)}`,
    messageOf(cause),
    '',
    renderStory(report.steps, trace),
    '',
    `Departures from FIFO (${trace.length}${shrunk}):`,
    renderTrace(trace),
    '',
    `Replay: explore(body, { replay: '${replay}' })`,
    `or set  WAITPOINT_REPLAY='${replay}'`,
    ...(seed === undefined ? [] : [`Seed:   ${seed}, all schedules again with WAITPOINT_SEED='${seed}'`]),
  ].join('\n')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
