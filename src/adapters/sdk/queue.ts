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

/** The limits of the queues that were declared, by their names. */
const limits = new Map<string, number | undefined>()

/**
 * Declares a queue. A task takes it as its `queue`, or by its name if the queue was declared before the task.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function queue(options: Queue): Queue {
  requireOptions(options, 'the options of queue', NAMES)
  const { name, concurrencyLimit } = options
  requireLimit(concurrencyLimit)
  limits.set(requireName(name, 'queue.name'), concurrencyLimit)
  return options
}

/** Unlike there, 0 is refused: to hold back the runs of a queue is to pause it. */
function requireLimit(limit: number | null | undefined): void {
  if (limit === undefined || limit === null) return
  requireWhole(limit, 'queue.concurrencyLimit', { from: 1, to: MOST_QUEUE_LIMIT })
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
  const options = typeof given === 'string' ? { name: given } : given
  requireOptions(options, 'the queue of a task', NAMES)
  const { name, concurrencyLimit } = options
  requireLimit(concurrencyLimit)
  const limit = concurrencyLimit ?? (name === undefined ? undefined : limits.get(name))
  return {
    ...(name === undefined ? {} : { name }),
    ...(limit === undefined ? {} : { concurrencyLimit: limit }),
  }
}
