import type { RetrievedQueue } from '../api/queue.ts'
import { TASK_QUEUE_START } from '../contract/id-prefixes.ts'

/** A queue as the hosted service shows it. */
export interface QueueItem {
  /** The name of the queue in the engine, such as `task/resize`. */
  id: string
  name: string
  /** `task`: that of one task, which has no other. */
  type: 'task' | 'custom'
  running: number
  queued: number
  paused: boolean
  concurrencyLimit: number | null
  /** `V1`: its limit is its own. */
  version: 'V1'
  concurrency: {
    current: number | null
    base: number | null
    override: number | null
    overriddenAt: Date | null
    overriddenBy: string | null
  }
}

/** How the hosted service names a queue: that of a task by the id of the task. */
export type HostedQueueName = Pick<QueueItem, 'type' | 'name'>

/** The name of a queue in the engine. */
export function queueNameOf({ type, name }: HostedQueueName): string {
  return type === 'task' ? TASK_QUEUE_START + name : name
}

/** The name of a queue in the hosted service. */
export function hostedQueueName(name: string): HostedQueueName {
  return name.startsWith(TASK_QUEUE_START)
    ? { type: 'task', name: name.slice(TASK_QUEUE_START.length) }
    : { type: 'custom', name }
}

/** A queue of the engine as the hosted service shows it. */
export function queueItem(queue: RetrievedQueue): QueueItem {
  const { name, isPaused, running, queued, limit = null, declaredLimit = null, limitedAt = null } = queue
  return {
    id: name,
    ...hostedQueueName(name),
    running,
    queued,
    paused: isPaused,
    concurrencyLimit: limit,
    version: 'V1',
    concurrency: {
      current: limit,
      base: declaredLimit,
      override: limitedAt === null ? null : limit,
      overriddenAt: limitedAt,
      overriddenBy: null,
    },
  }
}
