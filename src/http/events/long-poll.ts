import type { Inside, InsideNews } from '../../core/inside.ts'
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
  /** The watched topic: a run, or {@link ALL_RUNS}. */
  readonly topic: string
}

/** A request that is held for up to about 20 s, until something changes. */
export class LongPoll {
  readonly #inside: Inside
  readonly #options: LongPollOptions
  readonly #watcher: ReturnType<InsideNews['watch']>
  readonly #release: () => void
  #isOver = false

  constructor(inside: Inside, options: LongPollOptions) {
    const { host, news } = inside
    this.#inside = inside
    this.#options = options
    this.#watcher = news.watch(options.topic)
    const end = (): void => {
      this.#isOver = true
      this.#watcher.wake(OVER)
    }
    const ms = Math.round(HOLD_MS * (1 - JITTER + 2 * JITTER * host.random.fraction()))
    const about = { label: `long poll of ${options.topic}`, background: true }
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
    const { live, topic } = this.#options
    live.outlast()
    try {
      for (;;) {
        const found = await look()
        if (found !== undefined || this.#isOver) return found
        await live.pause(() => this.#inside.news.nextChange(topic, this.#watcher))
      }
    } finally {
      this.#release()
    }
  }
}
