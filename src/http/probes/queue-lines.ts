import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, Page } from '../../contract/storage.ts'
import type { Inside, Turns } from '../../core/inside.ts'
import { MOST_LABELS, OTHER } from './histogram.ts'
import { RUN_ID_START } from '../../contract/id-prefixes.ts'

/** So many runs are looked at for the oldest ones, and for queues that no task here declares. */
const MOST_OLDEST = 100
/** So many runs are looked at for one count, and for all counts of a look together: no storage has an index of queues. */
export const MOST_COUNTED = 10_000
const MOST_COUNTED_IN_ALL = 100_000

/** The runs of a queue that are in line. */
export interface QueueLine {
  readonly queue: string
  readonly queued: number
  /** There may be more than that. */
  readonly isMore: boolean
  /** When the oldest of them was made. Absent: none is, or it was not found. */
  readonly oldestAt?: number | undefined
}

/**
 * The lines of the queues that are known: those of tasks of the engine, those of which something is set, and those of the oldest
 * runs in line. All others are one.
 */
export async function queueLines(
  { tasks, host, runs }: Inside,
  turns: Turns,
  signal: AbortSignal,
): Promise<readonly QueueLine[]> {
  const { definitions } = tasks
  const oldestRuns = (taskIds?: readonly string[]): Awaitable<Page<RunRecord>> => {
    // Every id of a run is after this one.
    const page = { limit: MOST_OLDEST, before: RUN_ID_START }
    return host.storage.runs.list({ status: ['QUEUED'], taskIds }, page)
  }
  const count = async (queue: string | undefined, atMost: number): Promise<Omit<QueueLine, 'queue'>> => {
    await turns.next()
    const counts = await runs.count({ queue, status: ['QUEUED'] }, atMost)
    const { count: queued, isMore } = counts['QUEUED'] ?? { count: 0, isMore: false }
    return { queued, isMore }
  }

  const oldest = new Map<string, number>()
  const see = ({ records }: Awaited<ReturnType<typeof oldestRuns>>): void => {
    for (const { queue, createdAt } of records.toReversed())
      if (!oldest.has(queue)) oldest.set(queue, createdAt)
  }
  see(await oldestRuns())
  const set = (await host.storage.queues?.list()) ?? []
  const declared = definitions.map(({ queue }) => queue)
  const names = [...new Set([...declared, ...set.map(({ name }) => name), ...oldest.keys()])]
  const named = names.slice(0, MOST_LABELS)
  const atMost = Math.min(MOST_COUNTED, Math.floor(MOST_COUNTED_IN_ALL / (named.length + 1)))

  const lines: QueueLine[] = []
  for (const queue of named) {
    if (signal.aborted) return lines
    const counted = await count(queue, atMost)
    // Behind many runs of other queues: those of its tasks are fewer.
    const taskIds = definitions.filter((task) => task.queue === queue).map(({ id }) => id)
    const isBehind = !oldest.has(queue) && (counted.queued > 0 || counted.isMore)
    if (isBehind && taskIds.length > 0) see(await oldestRuns(taskIds))
    lines.push({ queue, ...counted, oldestAt: oldest.get(queue) })
  }
  const all = await count(undefined, MOST_COUNTED)
  const isMore = all.isMore || lines.some((line) => line.isMore)
  const queued = Math.max(0, all.queued - lines.reduce((sum, line) => sum + line.queued, 0))
  return queued === 0 && !isMore ? lines : [...lines, { queue: OTHER, queued, isMore }]
}
