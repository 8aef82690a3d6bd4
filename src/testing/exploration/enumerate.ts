import type { Decider } from './decider.ts'
import { following } from './decider.ts'
import type { Choice, Decision, Deviation, Trace } from './trace.ts'
import { deviationOf } from './trace.ts'
import { isInShard, type Shard, WHOLE } from './shard.ts'

/** A schedule to execute. The list shares its tail with its siblings. */
interface Plan {
  readonly parent: Plan | undefined
  readonly deviation: Deviation | undefined
  readonly depth: number
}

const FIFO: Plan = { parent: undefined, deviation: undefined, depth: 0 }

/**
 * All schedules with a bounded number of deviations from FIFO, each exactly once, those with fewer deviations first.
 * Each executed schedule is followed by those with one more deviation after its last one. Parts share FIFO alone, and the
 * schedules with the same first deviation are of one part.
 *
 * After "Delay-bounded scheduling" (M. Emmi, S. Qadeer, Z. Rakamarić, 2011).
 */
export function enumerate(maxDeviations: number, shard: Shard = WHOLE): Decider {
  let level: Plan[] = [FIFO]
  let next: Plan[] = []
  let current = FIFO
  return {
    isExhaustive: true,
    get depth() {
      return current.depth
    },
    begin() {
      const plan = level.pop() ?? nextLevel()
      if (plan === undefined) return undefined
      current = plan
      return following(traceOf(plan))
    },
    end(decisions) {
      if (current.depth >= maxDeviations) return
      const plans = [...followers(current, decisions)]
      const isFirst = current.depth === 0
      next.push(...(isFirst ? plans.filter((_plan, place) => isInShard(shard, place)) : plans))
    },
  }

  function nextLevel(): Plan | undefined {
    // The list is consumed from its end, so the first deviations come first.
    level = next.reverse()
    next = []
    return level.pop()
  }
}

function* followers(parent: Plan, decisions: readonly Decision[]): Generator<Plan> {
  const last = decisions.findLastIndex(({ index }) => index > 0)
  for (const { choice } of decisions.slice(last + 1)) {
    for (const deviation of departures(choice)) yield { parent, deviation, depth: parent.depth + 1 }
  }
}

function departures(choice: Choice): Deviation[] {
  return choice.options.flatMap((_option, index) => deviationOf({ choice, index }) ?? [])
}

function traceOf({ parent, deviation }: Plan): Trace {
  if (parent === undefined || deviation === undefined) return []
  return [...traceOf(parent), deviation]
}
