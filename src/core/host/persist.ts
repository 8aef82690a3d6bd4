import type { Awaitable } from '../../contract/storage.ts'
import { onAbort } from '../../primitives/abort.ts'
import { rescue } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Host } from './host.ts'
import type { Attempt } from '../attempt/attempt.ts'

const PAUSE_MS = 1_000

/** Where a failure is reported, and what the pauses are taken by. */
export interface PersistContext {
  readonly host: Host
  readonly events: { error(error: unknown, runId?: string): void }
}

/**
 * Stores what must not get lost, such as the output of a run: a storage that fails is asked again every second, until
 * it takes it or the engine closes. Every failure is an `error` event.
 */
export function persist<T>(
  context: PersistContext,
  attempt: Attempt,
  store: () => Awaitable<T>,
): Awaitable<T> {
  return rescue(store, (error) => persistLater(context, { attempt, store, error }))
}

async function persistLater<T>(
  { host, events }: PersistContext,
  { attempt, store, error: first }: { attempt: Attempt; store: () => Awaitable<T>; error: unknown },
): Promise<T> {
  for (let error = first; ;) {
    throwIfClosed(host, error)
    events.error(error, attempt.id)
    await pause(host, attempt)
    throwIfClosed(host, error)
    try {
      return await store()
    } catch (next) {
      error = next
    }
  }
}

/** Ends early when the attempt is aborted: its engine may be closing. */
async function pause({ clock }: Host, attempt: Attempt): Promise<void> {
  const { id, signal } = attempt
  const { promise, resolve } = createDeferred<undefined>()
  const about = { label: `storing what became of ${id} again` }
  const cancel = clock.setTimer(clock.now() + PAUSE_MS, () => resolve(undefined), about)
  const removeAbort = signal.aborted ? undefined : onAbort(signal, () => resolve(undefined))
  const goOn = attempt.rest()
  await promise
  cancel()
  removeAbort?.()
  goOn()
}

function throwIfClosed(host: Host, error: unknown): void {
  if (host.isClosed) throw error
}
