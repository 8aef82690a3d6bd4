import type { CancelTimer } from '../../contract/clock.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { parseDuration } from '../../primitives/duration.ts'
import type { Host } from '../host/host.ts'
import type { EventQueue } from './events.ts'
import type { RetentionOptions } from '../../api/retention-options.ts'

const FIRST_MS = 60_000
/** A look comes after so many ends; one batch drops so many, unless the storage says fewer. */
const BATCH = 1_000
/**
 * Looked at so often while its records grow old: nothing is kept for more than an eighth longer than it should. What has a deadline or a
 * key of its own may grow older than all others.
 */
const LOOKS = 8
const DEFAULT_MAX_AGE_MS = 30 * 86_400_000

interface Parts {
  readonly host: Host
  readonly events: EventQueue
}

/**
 * Forgets what has ended: in small batches, in the background, a batch also after every thousand ends, and when what has
 * ended takes too much memory. The longer nothing has ended, the more seldom it looks.
 */
export class Retention {
  readonly #kernel: Parts
  /** How long after its end a record is kept. */
  readonly maxAgeMs: number
  readonly #maxCount: number | undefined
  readonly #maxBytes: number | undefined
  #cancel: CancelTimer | undefined
  #isPruning = false
  /** The next batch comes as soon as the event loop has a turn. */
  #isSoon = false
  #isStopped = false
  /** So much has ended since the last look. */
  #ended = 0
  /** Found at the last look after the last end. */
  #endedAt = 0
  #lookAt = Infinity

  constructor(kernel: Parts, options: RetentionOptions) {
    this.#kernel = kernel
    const defaults = kernel.host.storage.retention ?? { maxAgeMs: DEFAULT_MAX_AGE_MS }
    this.maxAgeMs =
      options.maxAge === undefined ? defaults.maxAgeMs : parseDuration(options.maxAge, 'retention.maxAge')
    this.#maxCount = options.maxCount ?? defaults.maxCount
    this.#maxBytes = options.maxBytes ?? defaults.maxBytes
  }

  /** The storage may hold what an earlier engine left. */
  start(): void {
    this.#endedAt = this.#kernel.host.now()
    this.#schedule(FIRST_MS)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** A run or a token has ended. */
  ended(): void {
    this.#ended += 1
    if (this.#isPruning || this.#isSoon) return
    if (this.#ended >= BATCH || this.#isOverBytes()) this.#schedule(0)
    // The next look may be far ahead, as nothing had ended.
    else if (this.#ended === 1 && this.#lookAt > this.#kernel.host.now() + this.#pauseMs)
      this.#schedule(this.#pauseMs)
  }

  #isOverBytes(): boolean {
    const bytes = this.#maxBytes === undefined ? undefined : this.#kernel.host.storage.endedBytes?.()
    return bytes !== undefined && bytes > (this.#maxBytes ?? Infinity)
  }

  #schedule(inMs: number): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#isStopped) return
    this.#isSoon = inMs === 0
    const about = { label: 'retention', background: true }
    const { clock } = this.#kernel.host
    this.#lookAt = this.#kernel.host.now() + inMs
    this.#cancel = clock.setTimer(this.#lookAt, () => this.#prune(), about)
  }

  get #pauseMs(): number {
    return Math.max(FIRST_MS, Math.ceil(this.maxAgeMs / LOOKS))
  }

  #prune(): void {
    this.#cancel = undefined
    const now = this.#kernel.host.now()
    this.#isPruning = true
    this.#isSoon = false
    if (this.#ended > 0) this.#endedAt = now
    this.#ended = 0
    const idleMs = now - this.#endedAt
    const limit = Math.min(BATCH, this.#kernel.host.storage.pruneLimit ?? BATCH)
    const request = {
      before: now - this.maxAgeMs,
      keep: this.#maxCount,
      keepBytes: this.#maxBytes,
      limit,
      now,
    }
    const pruned = (count: number): void => {
      this.#isPruning = false
      if (count >= limit || this.#ended >= BATCH) this.#schedule(0)
      else
        this.#schedule(this.#ended > 0 ? this.#pauseMs : Math.max(this.#pauseMs, Math.ceil(idleMs / LOOKS)))
    }
    const failed = (error: unknown): void => {
      this.#kernel.events.error(error)
      pruned(0)
    }
    unawaited(() => chain(this.#kernel.host.storage.prune(request), pruned), failed)
  }
}
