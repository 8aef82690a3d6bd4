import { plainClock } from '../../clock/plain.ts'
import { currentRun } from './current-run.ts'
import { type TaskMetrics, taskMetrics } from './meter.ts'

/** Signs of life. An engine gives its own, so that these only let other work of the process go on. */
export const heartbeats: {
  yield(): Promise<void>
  getLastHeartbeat(): Date | undefined
} = {
  yield: () => {
    const clock = plainClock()
    return new Promise((resolve) => {
      clock.setTimer(clock.now(), resolve, { label: 'heartbeats.yield' })
    })
  },
  getLastHeartbeat: () => undefined,
}

/** Traces and metrics of other systems. Nothing is traced or measured here. */
export const otel: {
  withExternalTrace<Result>(work: () => Result): Result
  readonly metrics: TaskMetrics
} = {
  withExternalTrace: (work) => work(),
  metrics: taskMetrics,
}

/**
 * The attempt that calls does not end before the promise has settled. A function is called at the end of the attempt, as in the hosted
 * service; any other value has settled.
 */
export function waitUntil(promise: Promise<unknown> | ((timeoutInMs: number) => Promise<unknown>)): void {
  currentRun()?.waitUntil.add(promise)
  // It may reject before the end of the attempt, which is what waits for it.
  if (promise instanceof Promise) promise.catch(() => undefined)
}
