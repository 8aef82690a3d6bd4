import { systemClock } from '../../clock/system.ts'
import { currentRun } from './current-run.ts'

/** Signs of life. An engine gives its own, so that these only let other work of the process go on. */
export const heartbeats: {
  yield(): Promise<void>
  getLastHeartbeat(): Date | undefined
} = {
  yield: () => {
    const clock = systemClock()
    return new Promise((resolve) => {
      clock.setTimer(clock.now(), resolve, { label: 'heartbeats.yield' })
    })
  },
  getLastHeartbeat: () => undefined,
}

/** Traces of other systems. Nothing is traced here. */
export const otel: {
  withExternalTrace<Result>(work: () => Result): Result
} = {
  withExternalTrace: (work) => work(),
}

/** The attempt that calls does not end before the promise has settled. */
export function waitUntil(promise: Promise<unknown>): void {
  currentRun()?.waitUntil.add(promise)
}
