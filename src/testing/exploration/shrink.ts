import { following } from './decider.ts'
import { enumerate } from './enumerate.ts'
import { invariantOf } from './error.ts'
import type { ScheduleReport } from './schedule.ts'
import { type Choose, deviationOf, type Trace } from './trace.ts'

const MOST_RUNS = 300
/** The maximum number of schedules tried with fewer deviations. */
const MOST_SEARCHED = 1_500

/** Runs a schedule with the given decisions. */
export type Rerun = (choose: Choose) => Promise<ScheduleReport>

export interface Shrunk {
  readonly trace: Trace
  readonly report: ScheduleReport
}

/** The deviations that a schedule actually had. */
export function traceOf({ decisions }: ScheduleReport): Trace {
  return decisions.flatMap((decision) => deviationOf(decision) ?? [])
}

/**
 * Drops deviations, many at once and then one by one, while the same invariant fails. If more than one is left,
 * searches for any failing schedule with fewer.
 */
export async function shrinkSchedule(failed: ScheduleReport, rerun: Rerun): Promise<Shrunk> {
  const dropped = await drop(failed, rerun)
  return (await searchSmaller(dropped, rerun)) ?? dropped
}

async function drop(failed: ScheduleReport, rerun: Rerun): Promise<Shrunk> {
  let best: Shrunk = { trace: traceOf(failed), report: failed }
  let runs = 0
  const fails = async (trace: Trace): Promise<boolean> => {
    runs += 1
    const report = await rerun(following(trace))
    if (!failsLike(report, failed)) return false
    best = { trace: traceOf(report), report }
    return true
  }
  for (let size = Math.ceil(best.trace.length / 2); size >= 1 && runs < MOST_RUNS;) {
    if (await dropsAny(best.trace, size, fails)) size = Math.min(size, Math.ceil(best.trace.length / 2))
    else size = size === 1 ? 0 : Math.ceil(size / 2)
  }
  return best
}

/** Tries the schedule without each part of this size, from the front. Returns whether one could be dropped. */
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

/** Deviations that cannot be dropped one by one may still be more than needed. */
async function searchSmaller({ trace, report }: Shrunk, rerun: Rerun): Promise<Shrunk | undefined> {
  if (trace.length < 2) return undefined
  const decider = enumerate(trace.length - 1)
  for (let runs = 0; runs < MOST_SEARCHED; runs++) {
    const choose = decider.begin()
    if (choose === undefined) return undefined
    const tried = await rerun(choose)
    if (failsLike(tried, report)) return { trace: traceOf(tried), report: tried }
    decider.end?.(tried.decisions)
  }
  return undefined
}

function failsLike({ failure }: ScheduleReport, failed: ScheduleReport): boolean {
  return failure !== undefined && invariantOf(failure.error) === invariantOf(failed.failure?.error)
}
