import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
import type { QueueChange } from '../../contract/storage.ts'
import { requireName, requireWhole } from '../../primitives/require.ts'
import { type QueueHandle, type QueueRateOptions, readRate, type RetrievedQueue } from '../../api/queue.ts'
import type { Kernel } from '../kernel.ts'

/** A queue of an engine. The code of its calls is loaded with the first one. */
export class EngineQueue implements QueueHandle {
  readonly #kernel: Kernel
  readonly name: string

  /** @throws TypeError for a name that cannot be used. */
  constructor(kernel: Kernel, name: string) {
    this.#kernel = kernel
    this.name = requireName(name, 'the name of a queue')
  }

  retrieve(): Promise<RetrievedQueue> {
    return this.#kernel.call(async () => (await import('./queues.ts')).retrieveQueue(this.#kernel, this.name))
  }

  pause(): Promise<RetrievedQueue> {
    return this.#change({ isPaused: true })
  }

  resume(): Promise<RetrievedQueue> {
    return this.#change({ isPaused: false })
  }

  async setLimit(limit: number): Promise<RetrievedQueue> {
    requireWhole(limit, 'the limit of a queue', { from: 0, to: MOST_QUEUE_LIMIT })
    return this.#change({ limit })
  }

  resetLimit(): Promise<RetrievedQueue> {
    return this.#change({ limit: null })
  }

  async setRate(rate: QueueRateOptions): Promise<RetrievedQueue> {
    return this.#change({ rate: readRate(rate, 'the rate of a queue') })
  }

  resetRate(): Promise<RetrievedQueue> {
    return this.#change({ rate: null })
  }

  #change(change: Pick<QueueChange, 'isPaused' | 'limit' | 'rate'>): Promise<RetrievedQueue> {
    return this.#kernel.call(async () =>
      (await import('./queues.ts')).changeQueue(this.#kernel, this.name, change),
    )
  }
}
