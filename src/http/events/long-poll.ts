import type { Watcher } from '../../core/changes/watchers.ts'
import type { Kernel } from '../../core/kernel.ts'
import { nextChange } from '../../core/reading/run-changes.ts'
import { onAbort } from '../../primitives/abort.ts'
import type { LiveRequest } from '../live-request.ts'

const HOLD_MS = 20_000
/** Spreads the requests of clients that arrived together. */
const JITTER = 0.15
/** The hint that wakes a watcher at the end of a poll without a change. */
const OVER = 'over'

export interface LongPollOptions {
  readonly live: LiveRequest
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  /** The instant at which the access of the client expires. Default: never. */
  readonly expiresAt?: number | undefined
  /** The watched topics. The first one names the poll in messages. */
  readonly topics: readonly [string, ...string[]]
}

/** A request that is held for up to about 20 s, until something changes. */
export class LongPoll {
  readonly #kernel: Kernel
  readonly #options: LongPollOptions
  readonly #watcher: Watcher
  readonly #release: () => void
  #isOver = false

  constructor(kernel: Kernel, options: LongPollOptions) {
    const { host, watchers } = kernel
    this.#kernel = kernel
    this.#options = options
    this.#watcher = watchers.watch(...options.topics)
    const end = (): void => {
      this.#isOver = true
      this.#watcher.wake(OVER)
    }
    const [what] = options.topics
    const ms = Math.round(HOLD_MS * (1 - JITTER + 2 * JITTER * host.random.fraction()))
    const about = { label: `long poll of ${what}`, background: true }
    // The answer is then "no change"; the next request is refused.
    const at = Math.min(host.now() + ms, options.expiresAt ?? Infinity)
    const cancel = host.clock.setTimer(at, end, about)
    const removeAbort = onAbort(options.signal, end)
    this.#release = () => {
      cancel()
      removeAbort()
      this.#watcher.close()
    }
  }

  /** Calls `look`, and again after every change, until it finds something or the time is over. */
  find<Found>(look: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = this.#find(look)
    this.#watcher.readOn = () => found
    return found
  }

  async #find<Found>(look: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const { live, topics } = this.#options
    live.outlast()
    try {
      for (;;) {
        const found = await look()
        if (found !== undefined || this.#isOver) return found
        await live.pause(() => nextChange(this.#kernel, topics[0], this.#watcher))
      }
    } finally {
      this.#release()
    }
  }
}
