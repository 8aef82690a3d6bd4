import type { Watcher } from '../../core/changes/watchers.ts'
import type { Kernel } from '../../core/kernel.ts'
import { nextChange } from '../../core/reading/run-changes.ts'
import { onAbort } from '../../primitives/abort.ts'
import type { LiveRequest } from '../live-request.ts'

const HOLD_MS = 20_000
/** So that those who came together do not come again together. */
const JITTER = 0.15
/** Wakes a watcher when nothing has changed. */
const OVER = 'over'

export interface LongPollOptions {
  readonly live: LiveRequest
  /** The client is gone. */
  readonly signal: AbortSignal
  /** When the client may ask no more. Default: never. */
  readonly expiresAt?: number | undefined
  /** What is watched; the first is what it is about, for people. */
  readonly topics: readonly [string, ...string[]]
}

/** A request that is held until there is something to tell, for some 20 s. */
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
    // Then the answer is that nothing is new; who asks again is refused.
    const at = Math.min(host.now() + ms, options.expiresAt ?? Infinity)
    const cancel = host.clock.setTimer(at, end, about)
    const removeAbort = onAbort(options.signal, end)
    this.#release = () => {
      cancel()
      removeAbort()
      this.#watcher.close()
    }
  }

  /** Looks, and again after every change, until `look` finds something or it took too long. */
  async find<Found>(look: () => Promise<Found | undefined>): Promise<Found | undefined> {
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
