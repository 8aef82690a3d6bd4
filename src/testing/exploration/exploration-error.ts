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

  constructor(failed: FailedSchedule) {
    const { trace, report, run } = failed
    const cause = report.failure?.error
    super(describe(failed), { cause })
    this.name = 'ExplorationError'
    this.invariant = invariantOf(cause)
    this.trace = trace
    this.replay = formatTrace(trace)
    this.run = run
  }
}

/** Which invariant it is that an error says does not hold. */
export function invariantOf(error: unknown): Invariant {
  return error instanceof InvariantViolation ? error.invariant : 'the body holds'
}

function describe({ trace, report, run, deviationsBefore }: FailedSchedule): string {
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
  ].join('\n')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
