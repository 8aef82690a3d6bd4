import type { Decider } from './decider.ts'
import { following } from './decider.ts'
import { KnownStates } from './known-states.ts'
import { costOf } from './likely.ts'
import type { Executed } from './schedule-record.ts'
import { isInShard, type Shard, WHOLE } from './shard.ts'
import { inOtherWords, slowerThan } from './slow-schedules.ts'
import type { Choice, Decision, Deviation, Trace } from './trace.ts'
import { deviationOf, formatTrace } from './trace.ts'

/** A schedule to execute. The list shares its tail with its siblings. */
interface Plan {
  readonly parent: Plan | undefined
  readonly deviation: Deviation | undefined
  readonly depth: number
  /** How unlikely it is to find a bug. */
  readonly cost: number
}

const FIFO: Plan = { parent: undefined, deviation: undefined, depth: 0, cost: 0 }

/**
 * All schedules with a bounded number of deviations from FIFO, each exactly once, those with fewer deviations first, and of
 * these the likely ones. Each executed schedule is followed by those with one more deviation after its last one, up to where it
 * is in a state that is known. Parts share FIFO alone, and the schedules with the same first deviation are of one part.
 *
 * Where more than one deviation is allowed, schedules with one slow call come in between: each stands for one
 * with many deviations, and no other follows it. `hasSlowCalls` says otherwise.
 *
 * After "Delay-bounded scheduling" (M. Emmi, S. Qadeer, Z. Rakamarić, 2011).
 */
export function enumerate(
  maxDeviations: number,
  shard: Shard = WHOLE,
  hasSlowCalls: boolean = maxDeviations > 1,
): Decider {
  let level: Plan[] = [FIFO]
  let next: Plan[] = []
  let current = FIFO
  let fifo: Executed | undefined
  const known = new KnownStates()
  /** Schedules that were executed as those of a slow call. */
  const done = new Set<string>()
  return {
    isExhaustive: true,
    get depth() {
      return current.depth
    },
    begin() {
      for (let plan = nextPlan(); plan !== undefined; plan = nextPlan()) {
        const trace = traceOf(plan)
        // One with fewer deviations is executed all the same: others follow it.
        if (plan.depth === maxDeviations && done.has(formatTrace(trace))) continue
        current = plan
        return following(trace)
      }
      return undefined
    },
    end(decisions, steps) {
      const executed = steps && { decisions, steps }
      if (current.depth === 0) fifo = executed
      else if (current.depth === 1 && hasSlowCalls) addSlower(executed)
      if (current.depth === maxDeviations || current.deviation?.kind === 'slow') return
      const plans = [...followers(current, decisions, executed && known.add(executed, current.depth))]
      next.push(...(current.depth === 0 ? plans.filter((_plan, place) => isInShard(shard, place)) : plans))
    },
  }

  function nextPlan(): Plan | undefined {
    // The list is consumed from its end, so the first deviations come first.
    if (level.length === 0) [level, next] = [next.sort((one, other) => one.cost - other.cost).reverse(), []]
    return level.pop()
  }

  /** The slow call comes last of the schedules that are as likely. */
  function addSlower(executed: Executed | undefined): void {
    if (executed === undefined || fifo === undefined) return
    if (current.deviation?.kind === 'slow') done.add(formatTrace(inOtherWords(executed)))
    const slower = slowerThan(executed, fifo)
    if (slower === undefined) return
    const plan = planOf(FIFO, slower)
    level.splice(level.findLastIndex(({ cost }) => cost > plan.cost) + 1, 0, plan)
  }
}

/** @param end The number of steps after which nothing departs any more. */
function* followers(parent: Plan, decisions: readonly Decision[], end = Infinity): Generator<Plan> {
  const last = decisions.findLastIndex(({ index }) => index > 0)
  for (const { choice, step } of decisions.slice(last + 1)) {
    if (step >= end) return
    if (choice.kind === 'slow') continue
    for (const deviation of departures(choice)) yield planOf(parent, deviation)
  }
}

function planOf(parent: Plan, deviation: Deviation): Plan {
  return { parent, deviation, depth: parent.depth + 1, cost: parent.cost + costOf(deviation) }
}

function departures(choice: Choice): Deviation[] {
  return choice.options.flatMap((_option, index) => deviationOf({ choice, index }) ?? [])
}

function traceOf({ parent, deviation }: Plan): Trace {
  if (parent === undefined || deviation === undefined) return []
  return [...traceOf(parent), deviation]
}
