import { createDeferred } from '../primitives/deferred.ts'
import { outsideRuns } from './attempt/attempt.ts'
import type { Kernel } from './kernel.ts'
import { WaitpointError } from '../api/errors.ts'

/**
 * Ends an engine: no new work; attempts may go on for `drainMs`, effects of `once` and calls of `onCancel` for some seconds; then every attempt is aborted and fenced, its
 * runs are left to the next engine on the storage, and callers that await a result get an error.
 */
export async function shutDown(kernel: Kernel, drainMs: number): Promise<void> {
  const { host } = kernel
  host.beginClose()
  try {
    if (drainMs > 0) await drain(kernel, drainMs)
    await Promise.all([finishEffects(kernel), kernel.compensations.ended()])
  } finally {
    await disconnect(kernel)
  }
}

/** An effect that has begun may have happened: its attempt is aborted when the effect is recorded, the others at once. */
async function finishEffects({ effects, executor }: Kernel): Promise<void> {
  if (!effects.areUnderWay) return
  executor.abortAll(closedError, (attempt) => !effects.has(attempt))
  await effects.ended((attempt) => {
    executor.abort(attempt, closedError())
    executor.leave(attempt)
  })
}

function closedError(): WaitpointError {
  return new WaitpointError('ERR_ENGINE_CLOSED', 'Cannot go on: the engine is closed')
}

/** However the drain went: from here on the engine does nothing any more. */
async function disconnect(kernel: Kernel): Promise<void> {
  const { host, executor, publisher, watchers } = kernel
  host.close()
  // One for all, made when the first caller needs it.
  let made: WaitpointError | undefined
  const error = (): WaitpointError => (made ??= closedError())
  executor.abortAll(error)
  kernel.compensations.abortAll(error)
  kernel.disconnect()
  // What another engine did may not have been told here yet.
  publisher.wakeAll()
  // It may be closed by a run of its own, which reads nothing any more.
  await host.leaveStorage(outsideRuns(() => watchers.close(error)))
}

/** Until nothing executes any more; parked runs are not waited for. */
async function drain({ host, slots, compensations }: Kernel, drainMs: number): Promise<void> {
  const idle = createDeferred<void>()
  const about = { label: 'drain of the engine that is closing' }
  const release = host.clock.hold?.({ kind: 'awaited', id: 'the end of what executes', fail: idle.reject })
  const cancel = host.clock.setTimer(host.now() + drainMs, idle.resolve, about)
  slots.endHold()
  slots.whenIdle(() => compensations.whenIdle(idle.resolve))
  try {
    await idle.promise
  } finally {
    cancel()
    release?.()
  }
}
