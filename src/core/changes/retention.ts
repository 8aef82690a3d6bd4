import type { CancelTimer } from '../../contract/clock.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { parseDuration } from '../../primitives/duration.ts'
import type { EventQueue } from '../host/engine-events.ts'
import type { Host } from '../host/host.ts'
import type { Duration } from '../../api/token.ts'

/** How long ended runs and settled tokens are kept. Their idempotency keys are kept until they expire. */
export interface RetentionOptions {
  /**
   * How long after its end a record is kept.
   *
   * @default an hour in memory, 30 days on a durable storage
   */
  readonly maxAge?: Duration
  /**
   * How many ended records are kept, the newest first.
   *
   * @unit records
   * @default `100_000` in memory, no limit on a durable storage
   */
  readonly maxCount?: number
}

const FIRST_MS = 60_000
const BATCH = 1_000
/** Looked at so often while its records grow old: nothing is kept for more than an eighth longer than it should. */
const LOOKS = 8
const DEFAULT_MAX_AGE_MS = 30 * 86_400_000

/**
 * Forgets what has ended: in small batches, in the background, a batch also after every thousand ends. Once nothing has
 * ended for as long as anything is kept, it rests.
 */
export class Retention {
  readonly #host: Host
  readonly #events: EventQueue
  readonly #maxAgeMs: number
  readonly #maxCount: number | undefined
  #cancel: CancelTimer | undefined
  #isPruning = false
  #isStopped = false
  #ended = 0
  /** Something has ended since the last look. */
  #hasNews = false
  #restAt = 0

  constructor(host: Host, events: EventQueue, options: RetentionOptions) {
    this.#host = host
    this.#events = events
    const defaults = host.storage.retention ?? { maxAgeMs: DEFAULT_MAX_AGE_MS }
    this.#maxAgeMs =
      options.maxAge === undefined ? defaults.maxAgeMs : parseDuration(options.maxAge, 'retention.maxAge')
    this.#maxCount = options.maxCount ?? defaults.maxCount
  }

  /** The storage may hold what an earlier engine left. */
  start(): void {
    this.#restAt = this.#host.now() + this.#maxAgeMs
    this.#schedule(FIRST_MS)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** A run or a token has ended. */
  ended(): void {
    this.#ended += 1
    this.#hasNews = true
    if (this.#isPruning) return
    if (this.#ended % BATCH === 0) this.#schedule(0)
    else if (this.#cancel === undefined) this.#schedule(this.#pauseMs)
  }

  #schedule(inMs: number): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#isStopped) return
    const about = { label: 'retention', background: true }
    this.#cancel = this.#host.clock.setTimer(this.#host.now() + inMs, () => this.#prune(), about)
  }

  get #pauseMs(): number {
    return Math.max(FIRST_MS, Math.ceil(this.#maxAgeMs / LOOKS))
  }

  #prune(): void {
    this.#cancel = undefined
    const now = this.#host.now()
    this.#isPruning = true
    if (this.#hasNews) this.#restAt = now + this.#maxAgeMs
    this.#hasNews = false
    const request = { before: now - this.#maxAgeMs, keep: this.#maxCount, limit: BATCH, now }
    const pruned = (count: number): void => {
      this.#isPruning = false
      if (count >= BATCH) this.#schedule(0)
      else if (this.#hasNews || now <= this.#restAt) this.#schedule(this.#pauseMs)
    }
    const failed = (error: unknown): void => {
      this.#events.error(error)
      pruned(0)
    }
    unawaited(() => chain(this.#host.storage.prune(request), pruned), failed)
  }
}
