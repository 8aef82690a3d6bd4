import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
import type { Awaitable, QueueChange } from '../../contract/storage.ts'
import { type Late, late } from '../../primitives/late.ts'
import { requireName, requireWhole } from '../../primitives/require.ts'
import { type QueueHandle, type QueueRateOptions, readRate, type RetrievedQueue } from '../../api/queue.ts'
import type { Kernel } from '../kernel.ts'
import type * as queues from './queues.ts'

/** The calls of queues, and the list of them. */
export const QUEUES: Late<typeof queues> = /* @__PURE__ */ late(() => import('./queues.ts'))

/** A queue of an engine. The code of its calls is loaded with the first one. */
export class EngineQueue implements QueueHandle {
  readonly #ask: <T>(call: (kernel: Kernel) => Awaitable<T>) => Promise<T>
  readonly name: string

  /**
   * @param ask Makes a call of the engine, or refuses it.
   * @throws TypeError for a name that cannot be used.
   */
  constructor(ask: <T>(call: (kernel: Kernel) => Awaitable<T>) => Promise<T>, name: string) {
    this.#ask = ask
    this.name = requireName(name, 'the name of a queue')
  }

  retrieve(): Promise<RetrievedQueue> {
    return this.#ask((kernel) => QUEUES.use(({ retrieveQueue }) => retrieveQueue(kernel, this.name)))
  }

  pause(): Promise<RetrievedQueue> {
    return this.#change(() => ({ isPaused: true }))
  }

  resume(): Promise<RetrievedQueue> {
    return this.#change(() => ({ isPaused: false }))
  }

  setLimit(limit: number): Promise<RetrievedQueue> {
    return this.#change(() => {
      requireWhole(limit, 'the limit of a queue', { from: 0, to: MOST_QUEUE_LIMIT })
      return { limit }
    })
  }

  resetLimit(): Promise<RetrievedQueue> {
    return this.#change(() => ({ limit: null }))
  }

  setRate(rate: QueueRateOptions): Promise<RetrievedQueue> {
    return this.#change(() => ({ rate: readRate(rate, 'the rate of a queue') }))
  }

  resetRate(): Promise<RetrievedQueue> {
    return this.#change(() => ({ rate: null }))
  }

  #change(read: () => Pick<QueueChange, 'isPaused' | 'limit' | 'rate'>): Promise<RetrievedQueue> {
    return this.#ask((kernel) => {
      const change = read()
      return QUEUES.use(({ changeQueue }) => changeQueue(kernel, this.name, change))
    })
  }
}
