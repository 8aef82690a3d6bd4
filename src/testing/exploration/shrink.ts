import type { Budget } from './budget.ts'
import { following } from './decider.ts'
import { enumerate } from './enumerate.ts'
import { invariantOf } from './error.ts'
import type { ScheduleReport } from './schedule.ts'
import { type Choose, type Trace, traceOf } from './trace.ts'

const MOST_RUNS = 300
/** The maximum number of schedules tried with fewer deviations. */
const MOST_SEARCHED = 1_500

/** Runs a schedule with the given decisions. */
export type Rerun = (choose: Choose) => Promise<ScheduleReport>

export interface Shrunk {
  readonly trace: Trace
  readonly report: ScheduleReport
  /** Whether the budget ended the search for a smaller one. */
  readonly isCut?: boolean
}

/**
 * Drops deviations, many at once and then one by one, while the same invariant fails. If more than one is left,
 * searches for any failing schedule with fewer. Stops where the budget is spent.
 */
export async function shrinkSchedule(failed: ScheduleReport, rerun: Rerun, budget: Budget): Promise<Shrunk> {
  const counted: Rerun = (choose) => {
    budget.spend()
    return rerun(choose)
  }
  const dropped = await drop(failed, counted, budget)
  const shrunk = (await searchSmaller(dropped, counted, budget)) ?? dropped
  return { ...shrunk, isCut: shrunk.trace.length > 0 && budget.isSpent }
}

async function drop(failed: ScheduleReport, rerun: Rerun, budget: Budget): Promise<Shrunk> {
  let best: Shrunk = { trace: traceOf(failed), report: failed }
  let runs = 0
  const fails = async (trace: Trace): Promise<boolean> => {
    runs += 1
    const report = await rerun(following(trace))
    if (!failsLike(report, failed)) return false
    best = { trace: traceOf(report), report }
    return true
  }
  for (let size = Math.ceil(best.trace.length / 2); size >= 1 && runs < MOST_RUNS && !budget.isSpent;) {
    const isDropped = await dropsAny({ trace: best.trace, size, fails, budget })
    if (isDropped) size = Math.min(size, Math.ceil(best.trace.length / 2))
    else size = size === 1 ? 0 : Math.ceil(size / 2)
  }
  return best
}

interface DropOptions {
  readonly trace: Trace
  readonly size: number
  readonly fails: (trace: Trace) => Promise<boolean>
  readonly budget: Budget
}

/** Tries the schedule without each part of this size, from the front. Returns whether one could be dropped. */
async function dropsAny({ trace, size, fails, budget }: DropOptions): Promise<boolean> {
  for (let from = 0; from < trace.length && !budget.isSpent; from += size) {
    if (await fails([...trace.slice(0, from), ...trace.slice(from + size)])) return true
  }
  return false
}

/** Deviations that cannot be dropped one by one may still be more than needed. */
async function searchSmaller(
  { trace, report }: Shrunk,
  rerun: Rerun,
  budget: Budget,
): Promise<Shrunk | undefined> {
  if (trace.length < 2) return undefined
  const decider = enumerate(trace.length - 1)
  for (let runs = 0; runs < MOST_SEARCHED && !budget.isSpent; runs++) {
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
