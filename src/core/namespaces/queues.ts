import type { QueueChange, QueueSettings, QueueStore } from '../../contract/storage.ts'
import { WaitpointError } from '../../api/errors.ts'
import { OTHERS_TOPIC } from '../changes/publisher.ts'
import { rateInForce } from '../../contract/queue-rates.ts'
import type { RetrievedQueue } from '../../api/queue.ts'
import { fenceOf } from '../attempt/attempt.ts'
import { requireRates } from '../host/rates.ts'
import { GET_QUEUE, LIST_QUEUES, type RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { COUNT_RUNS } from './counts.ts'

const MOST_COUNTED = 10_000

/** It may be made again: it sets what it has set. */
const SET_QUEUE: RepeatableCall<QueueChange, QueueSettings | 'stale'> = {
  takesNoSlot: true,
  ask: ({ queues }, change) => storeOf(queues, `change queue "${change.name}"`).set(change),
}

/** `engine.queues`: those of the tasks of this engine and the limits of these, and those of which something is set. */
export async function listQueues(kernel: Kernel): Promise<readonly RetrievedQueue[]> {
  const set = await kernel.read(() => kernel.asked(LIST_QUEUES, undefined))
  if (set === undefined) throw noQueues('list queues')
  const { definitions, limits } = kernel.tasks
  const names = [...definitions.map(({ queue }) => queue), ...limits.keys(), ...set.map(({ name }) => name)]
  return Promise.all([...new Set(names)].toSorted().map((name) => retrieveQueue(kernel, name)))
}

/** `retrieve` of a queue. */
export async function retrieveQueue(kernel: Kernel, name: string): Promise<RetrievedQueue> {
  const count = { filter: { queue: name, status: ['QUEUED'] as const } }
  const [state, counts] = await kernel.read(async () =>
    Promise.all([
      kernel.asked(GET_QUEUE, { name }),
      kernel.asked(COUNT_RUNS, { ...count, atMost: MOST_COUNTED }),
    ]),
  )
  if (state === undefined) throw noQueues(`look at queue "${name}"`)
  const { isPaused, limitedAt, ratedAt, slots, refused } = state
  const { total, perKey } = kernel.tasks.limits.get(name) ?? {}
  const declaredLimit = kernel.tasks.queueLimits.get(name) ?? perKey ?? total
  const limit = state.limit ?? declaredLimit
  const declaredRate = kernel.tasks.queueRates.get(name)
  const rate = rateInForce(state, declaredRate)
  const { count: queued, isMore } = counts['QUEUED'] ?? { count: 0, isMore: false }
  return {
    name,
    isPaused,
    ...(limit === undefined ? {} : { limit }),
    ...(declaredLimit === undefined ? {} : { declaredLimit }),
    ...(limitedAt === undefined ? {} : { limitedAt: new Date(limitedAt) }),
    ...(rate === undefined ? {} : { rate }),
    ...(declaredRate === undefined ? {} : { declaredRate }),
    ...(ratedAt === undefined ? {} : { ratedAt: new Date(ratedAt) }),
    running: slots,
    queued,
    isMore,
    waitingForSlot: refused,
  }
}

/** Changes a queue, and wakes what it held back. */
export async function changeQueue(
  kernel: Kernel,
  name: string,
  change: Pick<QueueChange, 'isPaused' | 'limit' | 'rate'>,
): Promise<RetrievedQueue> {
  await kernel.call((scope) => {
    const { host, tasks } = kernel
    if (change.rate !== undefined && tasks.limits.has(name))
      throw new TypeError(
        `Cannot change the rate of "${name}": it is a limit of tasks, and only queues have rates`,
      )
    if (change.rate !== undefined) requireRates(host.storage, `change the rate of queue "${name}"`)
    const place = { name, fence: fenceOf(scope), now: host.now(), by: host.owner }
    return kernel.written(scope, SET_QUEUE, { ...place, ...change })
  })
  // Other engines are told by storage.
  kernel.watchers.wake(OTHERS_TOPIC)
  kernel.slots.retry()
  // A free slot is not worth a claim where a rate alone has held runs back.
  kernel.claimer.poke()
  return retrieveQueue(kernel, name)
}

function storeOf(queues: QueueStore | undefined, action: string): QueueStore {
  if (queues !== undefined) return queues
  throw noQueues(action)
}

function noQueues(action: string): WaitpointError {
  return new WaitpointError(
    'ERR_CANNOT_SET_QUEUE',
    `Cannot ${action}: the storage keeps nothing of queues; use memory, SQLite or Postgres storage, or give yours Storage.queues`,
  )
}
