import { onAbort } from '../../primitives/abort.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { requireOptions, requireSignal } from '../../primitives/require.ts'
import type { TravelOptions } from './time-travel.ts'
import type { VirtualTime } from './time.ts'

export interface SleeperOptions {
  readonly time: VirtualTime
  /** The id of the run whose code is calling, if any. */
  readonly currentRun: () => string | undefined
}

/** Sleeps and time-outs on a test clock, for code outside of the engine. */
export class Sleeper {
  readonly #time: VirtualTime
  readonly #currentRun: () => string | undefined
  /** The timers of `signal()`. A timer that was never needed is not a leak. */
  readonly #signals = new Set<() => void>()

  constructor({ time, currentRun }: SleeperOptions) {
    this.#time = time
    this.#currentRun = currentRun
  }

  async sleep(duration: number | string, options: TravelOptions = {}): Promise<void> {
    requireOptions(options, 'the options of clock.sleep', { signal: true })
    requireSignal(options.signal, 'signal')
    const { timers, ledger } = this.#time
    const at = timers.now + parseDuration(duration, 'duration')
    const { promise, resolve, reject } = createDeferred<undefined>()
    const cancel = timers.set(at, () => resolve(undefined), { label: `sleep(${duration})` })
    const removeListener = onAbort(options.signal, reject)
    const wakeUp = ledger.sleep({ runId: this.#currentRun(), fail: reject })
    try {
      await promise
    } finally {
      cancel()
      removeListener()
      wakeUp()
    }
  }

  signal(duration: number | string): AbortSignal {
    const { timers, ledger } = this.#time
    const runId = this.#currentRun()
    const at = timers.now + parseDuration(duration, 'duration')
    const controller = new AbortController()
    const abort = (): void => {
      drop()
      controller.abort(new DOMException(`The operation was aborted: "${duration}" passed`, 'TimeoutError'))
    }
    const cancel = timers.set(at, abort, { label: `signal(${duration})` })
    // That of a test demands nothing.
    const wakeUp =
      runId === undefined ? undefined : ledger.sleep({ runId, isSignal: true, fail: () => undefined })
    const drop = (): void => {
      cancel()
      wakeUp?.()
      this.#signals.delete(drop)
    }
    this.#signals.add(drop)
    return controller.signal
  }

  dropSignals(): void {
    for (const drop of this.#signals) drop()
  }
}
