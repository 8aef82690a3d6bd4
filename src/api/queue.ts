/** A queue and its runs, as it is now. */
export interface RetrievedQueue {
  readonly name: string
  /** No run of it gets a slot. */
  readonly isPaused: boolean
  /**
   * How many of its runs may execute at once, for each concurrency key: what `setLimit` has set, else what tasks of this engine
   * say. Absent: any number.
   */
  readonly limit?: number
  /** What tasks of this engine say. Absent: nothing. */
  readonly declaredLimit?: number
  /** When `setLimit` has set `limit`. Absent: it has not. */
  readonly limitedAt?: Date
  /** Runs that hold a slot. */
  readonly running: number
  /** Runs that are `QUEUED`: counted among 10,000. */
  readonly queued: number
  /** Whether there may be more than `queued`. */
  readonly isMore: boolean
  /** Runs that have waited, could go on, and were refused a slot of the queue. They come before those that are queued. */
  readonly waitingForSlot: number
}

/**
 * One queue, over all engines on the storage. A change is in force once its promise has resolved: from then on no engine gives a run a slot
 * beyond it. It stays until it is changed again, also while no engine runs. Every call rejects with `ERR_CANNOT_SET_QUEUE` if the storage keeps nothing of queues.
 * See docs/retries-queues-children.md.
 */
export interface QueueHandle {
  readonly name: string
  retrieve(): Promise<RetrievedQueue>
  /** From now on no run gets a slot: none starts, none is retried, and none goes on after a wait. Runs that execute go on to their next wait. */
  pause(): Promise<RetrievedQueue>
  resume(): Promise<RetrievedQueue>
  /** Sets the limit, instead of that of the tasks. Rejects with a RangeError unless it is a whole number from 0 to 100,000. */
  setLimit(limit: number): Promise<RetrievedQueue>
  /** The limit is again that of the tasks. */
  resetLimit(): Promise<RetrievedQueue>
}
