import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
import { requireName, requireOptions, requireWhole } from '../../primitives/require.ts'
import type { OptionNames } from '../../primitives/require.ts'

/** A queue that tasks share by its name. */
export interface Queue {
  /** The name of the queue. */
  name: string
  /** Runs of the queue that may execute at once, for each concurrency key. */
  concurrencyLimit?: number
}

const NAMES: OptionNames<Queue> = { name: true, concurrencyLimit: true }

/** The limits of the queues that were declared, by their names. An engine of tasks of this module has all of them. */
export const declaredLimits: Map<string, number | undefined> = new Map()

/**
 * Declares a queue, before engines are created. A task takes it as its `queue`, or by its name; so does a trigger.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function queue(options: Queue): Queue {
  requireOptions(options, 'the options of queue', NAMES)
  const { name, concurrencyLimit } = options
  declaredLimits.set(requireName(name, 'queue.name'), limitOf(concurrencyLimit))
  return options
}

/** Unlike there, 0 is refused: to hold back the runs of a queue is to pause it. */
function limitOf(limit: number | null | undefined): number | undefined {
  if (limit === undefined || limit === null) return undefined
  requireWhole(limit, 'queue.concurrencyLimit', { from: 1, to: MOST_QUEUE_LIMIT })
  return limit
}

/**
 * The queue of a task as the engine takes it.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function engineQueue(
  given: string | { readonly name?: string; readonly concurrencyLimit?: number } | undefined,
): { readonly name?: string; readonly concurrencyLimit?: number } {
  if (given === undefined) return {}
  if (typeof given === 'string') return { name: given }
  requireOptions(given, 'the queue of a task', NAMES)
  const { name } = given
  const limit = limitOf(given.concurrencyLimit)
  return {
    ...(name === undefined ? {} : { name }),
    ...(limit === undefined ? {} : { concurrencyLimit: limit }),
  }
}
