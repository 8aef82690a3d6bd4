import { type HostedQueueName, type QueueItem, queueItem, queueNameOf } from '../../hosted/queue-item.ts'
import { knownQueues, namedQueue } from '../../core/ambient/ambient.ts'
import { type OptionNames, requireName, requireOptions, show } from '../../primitives/require.ts'
import { type OffsetOptions, type OffsetPagePromise, offsetPages } from './offset-page.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'

/** The queue of a task by the id of the task, a custom one by its name; or the id of a queue. */
export type RetrieveQueueParam = string | { type: 'task' | 'custom'; name: string }

/** `queues`. A queue of which nothing is known is an empty one. Its calls reject as those of `engine.queue` do. */
export interface Queues {
  /** Awaited: one page, of 20 unless `perPage` says otherwise. */
  list(options?: OffsetOptions, requestOptions?: RequestOptions): OffsetPagePromise<QueueItem>
  retrieve(queue: RetrieveQueueParam, requestOptions?: RequestOptions): Promise<QueueItem>
  pause(queue: RetrieveQueueParam, requestOptions?: RequestOptions): Promise<QueueItem>
  resume(queue: RetrieveQueueParam, requestOptions?: RequestOptions): Promise<QueueItem>
  /** Rejects with a RangeError unless the limit is a whole number from 0 to 100,000. */
  overrideConcurrencyLimit(
    queue: RetrieveQueueParam,
    concurrencyLimit: number,
    requestOptions?: RequestOptions,
  ): Promise<QueueItem>
  resetConcurrencyLimit(queue: RetrieveQueueParam, requestOptions?: RequestOptions): Promise<QueueItem>
}

const PARAM_NAMES: OptionNames<HostedQueueName> = { type: true, name: true }

export const hostedQueues: Queues = /* @__PURE__ */ takingRequests<Queues>(
  {
    list: (options) => offsetPages(async () => (await knownQueues()).map(queueItem), options),
    retrieve: async (queue) => queueItem(await namedQueue(nameOf(queue)).retrieve()),
    pause: async (queue) => queueItem(await namedQueue(nameOf(queue)).pause()),
    resume: async (queue) => queueItem(await namedQueue(nameOf(queue)).resume()),
    overrideConcurrencyLimit: async (queue, limit) =>
      queueItem(await namedQueue(nameOf(queue)).setLimit(limit)),
    resetConcurrencyLimit: async (queue) => queueItem(await namedQueue(nameOf(queue)).resetLimit()),
  },
  { list: 1, retrieve: 1, pause: 1, resume: 1, overrideConcurrencyLimit: 2, resetConcurrencyLimit: 1 },
)

/** @throws TypeError or RangeError for what names no queue. */
function nameOf(queue: RetrieveQueueParam): string {
  if (typeof queue === 'string') return requireName(queue, 'the id of a queue')
  requireOptions(queue, 'a queue', PARAM_NAMES)
  const { type, name } = queue
  requireName(name, 'the name of a queue')
  switch (type) {
    case 'task':
    case 'custom':
      return queueNameOf({ type, name })
    default:
      throw new RangeError(`Cannot use the type ${show(type)} of a queue: it must be "task" or "custom"`)
  }
}
