import { invariantOf } from './exploration-error.ts'
import type { ScheduleReport } from './schedule.ts'
import { deviationOf, type Trace } from './trace.ts'

const MOST_RUNS = 300

export interface Shrunk {
  readonly trace: Trace
  readonly report: ScheduleReport
}

/** The deviations that a schedule really had. */
export function traceOf({ decisions }: ScheduleReport): Trace {
  return decisions.flatMap((decision) => deviationOf(decision) ?? [])
}

/**
 * Drops deviations, many at once and then one by one, as long as the same invariant fails. What is left is needed, each
 * of them.
 */
export async function shrink(
  failed: ScheduleReport,
  rerun: (trace: Trace) => Promise<ScheduleReport>,
): Promise<Shrunk> {
  let best: Shrunk = { trace: traceOf(failed), report: failed }
  const invariant = invariantOf(failed.failure?.error)
  let runs = 0
  const fails = async (trace: Trace): Promise<boolean> => {
    runs += 1
    const report = await rerun(trace)
    if (report.failure === undefined || invariantOf(report.failure.error) !== invariant) return false
    best = { trace: traceOf(report), report }
    return true
  }
  for (let size = Math.ceil(best.trace.length / 2); size >= 1 && runs < MOST_RUNS;) {
    if (await dropsAny(best.trace, size, fails)) size = Math.min(size, Math.ceil(best.trace.length / 2))
    else size = size === 1 ? 0 : Math.ceil(size / 2)
  }
  return best
}

/** Tries without each part of this size, from the front; whether one of them was not needed. */
async function dropsAny(
  trace: Trace,
  size: number,
  fails: (trace: Trace) => Promise<boolean>,
): Promise<boolean> {
  for (let from = 0; from < trace.length; from += size) {
    if (await fails([...trace.slice(0, from), ...trace.slice(from + size)])) return true
  }
  return false
}
