import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { onAbort } from '../../primitives/abort.ts'
import { losePatience } from '../patience.ts'

export interface PulseWait {
  /** The real milliseconds to wait, not counting the time of a suspended process; `Infinity` for no limit. */
  readonly patienceMs: number
  readonly signal?: AbortSignal | undefined
}

/** Counts the signs of life that a test clock sees, and wakes the waiter for the next one. */
export class Pulse {
  #beats = 0
  readonly #waiters = new Set<Deferred<boolean>>()
  #listener: (() => void) | undefined

  get beats(): number {
    return this.#beats
  }

  /** Sets the one listener, called synchronously at every beat. */
  onBeat(listener: () => void): void {
    this.#listener = listener
  }

  beat(): void {
    this.#beats += 1
    for (const waiter of this.#waiters) waiter.resolve(true)
    this.#listener?.()
  }

  /** Whether there was a beat, or an abort, before patience ended. The caller checks the signal. */
  async next({ patienceMs, signal }: PulseWait): Promise<boolean> {
    const waiter = createDeferred<boolean>()
    const removeListener = onAbort(signal, () => waiter.resolve(true))
    const keepPatience =
      patienceMs === Infinity ? undefined : losePatience(patienceMs, () => waiter.resolve(false))
    this.#waiters.add(waiter)
    try {
      return await waiter.promise
    } finally {
      this.#waiters.delete(waiter)
      keepPatience?.()
      removeListener()
    }
  }
}
