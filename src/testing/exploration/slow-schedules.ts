import { isLikely } from './likely.ts'
import type { Executed } from './schedule-record.ts'
import { SLOWNESS } from './slow-call.ts'
import type { Decision, Deviation, Trace } from './trace.ts'

/**
 * The schedule in which the call that is held in a schedule with one deviation is held for longer: if more could have gone
 * before it. The first of the steps that may go before a call shows whether that is so.
 */
export function slowerThan(executed: Executed, fifo: Executed): Deviation | undefined {
  const departure = executed.decisions.find(({ index }) => index > 0)
  if (departure === undefined) return undefined
  const { choice, index } = departure
  const isFirst = choice.kind === 'next' && index === 1
  if (!isLikely(choice.at) || !(isFirst || choice.kind === 'slow')) return undefined
  const more = slowChoice(executed, choice.at, departure.step)
  const take = more && longer(more, instantOf(executed, more) > instantOf(executed, departure))
  if (take === undefined || take === choice.options[index]) return undefined
  // Timers may be set while it is held.
  const isPossible = slowChoice(fifo, choice.at)?.choice.options.includes(take) === true
  return isPossible ? { kind: 'slow', at: choice.at, take } : undefined
}

/** Where a call could be slow. */
function slowChoice({ decisions }: Executed, at: string, after = -1): Decision | undefined {
  return decisions.find(({ choice, step }) => choice.kind === 'slow' && choice.at === at && step > after)
}

/** How long a call has to be held to let more go first than it has until now. */
function longer({ choice }: Decision, hasTimePassed: boolean): string | undefined {
  const further = SLOWNESS.findIndex((slowness) => slowness === choice.options[1])
  return SLOWNESS[hasTimePassed ? further + 1 : further]
}

function instantOf({ steps }: Executed, { step }: Decision): number {
  return steps[step - 1]?.now ?? -Infinity
}

/** The deviations of a schedule with a slow call, without that: each step that went before the call is one. */
export function inOtherWords({ decisions, steps }: Executed): Trace {
  const slow = decisions.find(({ index }) => index > 0)
  const at = slow?.choice.at ?? ''
  const end = steps.findIndex(({ label }) => label === at)
  // A call that died with its process never came.
  if (slow === undefined || end < 0) return []
  return steps.slice(slow.step, end).map(({ label }) => ({ kind: 'next', at, take: label }))
}
