import type { Clock } from '../contract/clock.ts'
import { onAbort } from '../primitives/abort.ts'
import { createDeferred } from '../primitives/deferred.ts'

/** Waits for a time; rejects with the reason of the first signal that aborts meanwhile. */
export async function pause(
  clock: Clock,
  ms: number,
  signals: readonly (AbortSignal | undefined)[],
): Promise<void> {
  const { promise, resolve, reject } = createDeferred<void>()
  const cancel = clock.setTimer(clock.now() + ms, () => resolve(), { label: 'asking a service again' })
  const removeListeners = signals.map((signal) => onAbort(signal, reject))
  try {
    await promise
  } finally {
    cancel()
    for (const remove of removeListeners) remove()
  }
}
