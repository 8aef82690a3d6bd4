import type { RetrievedQueue } from '../../api/queue.ts'
import type { Engine } from '../../core/engine.ts'

/** So many of the newest runs are looked at. */
const MOST_RUNS = 100

/**
 * The queues of a storage, whose tasks are elsewhere: those of which something is set, and those of the newest runs that are
 * queued or execute. By name.
 */
export async function queuesOutside(engine: Engine): Promise<readonly RetrievedQueue[]> {
  const [set, { data }] = await Promise.all([
    engine.queues(),
    engine.runs.list({ status: ['QUEUED', 'EXECUTING'], limit: MOST_RUNS }),
  ])
  const known = set.map(({ name }) => name)
  const others = data.flatMap(({ queue = '' }) => (queue === '' || known.includes(queue) ? [] : [queue]))
  const found = await Promise.all([...new Set(others)].map((name) => engine.queue(name).retrieve()))
  return [...set, ...found].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
