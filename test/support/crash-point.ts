import type { TestClock } from '../../src/clock/test.ts'
import type { CancelTimer, HoldingClock, ReleaseHold } from '../../src/contract/clock.ts'
import type { Storage } from '../../src/contract/storage.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { abandonable } from './abandon.ts'

/** Where a process dies: before its `call`-th storage call takes effect, or after that and before it is answered. */
export interface CrashPoint {
  readonly call: number
  readonly moment: 'before' | 'after'
}

export interface CrashingPorts<Clock extends HoldingClock = TestClock> {
  readonly clock: Clock
  readonly storage: Storage
  /** Storage calls so far. */
  readonly calls: number
  readonly hasCrashed: boolean
  /** It dies of nothing any more; answers whether it is still there. */
  survive(): boolean
}

/** The ports of a process that dies at one of its storage calls; without a point it lives. */
export function crashing<Clock extends HoldingClock>(
  clock: Clock,
  storage: Storage,
  point?: CrashPoint,
): CrashingPorts<Clock> {
  let calls = 0
  let hasCrashed = false
  let isMortal = true
  const crashAt = (moment: CrashPoint['moment']): void => {
    if (!isMortal || calls !== point?.call || moment !== point.moment) return
    hasCrashed = true
    ports.abandon()
  }
  const ports = abandonable(clock, storage, {
    before: () => {
      calls += 1
      crashAt('before')
    },
    after: () => crashAt('after'),
  })
  return {
    clock: ports.clock,
    storage: ports.storage,
    get calls() {
      return calls
    },
    get hasCrashed() {
      return hasCrashed
    },
    survive() {
      isMortal = false
      return !hasCrashed
    },
  }
}

export interface PausingPorts {
  readonly clock: TestClock
  readonly storage: Storage
  readonly isPaused: boolean
  /** The process goes on where it stood: calls take effect, overdue timers fire. */
  resume(): void
}

/** The ports of a process that stands still from its `call`-th storage call on, as if it were suspended. */
export function pausing(clock: TestClock, storage: Storage, call: number): PausingPorts {
  const resumed = createDeferred<undefined>()
  let calls = 0
  let state: 'running' | 'paused' | 'resumed' = 'running'
  const late: (() => void)[] = []
  const held = new Set<ReleaseHold>()
  const pause = (): void => {
    state = 'paused'
    for (const release of held) release()
  }
  return {
    clock: {
      ...clock,
      setTimer: (at, fire, about): CancelTimer => {
        let isCanceled = false
        const wake = (): void => {
          if (!isCanceled) fire()
        }
        const cancel = clock.setTimer(
          at,
          () => {
            if (state === 'paused') late.push(wake)
            else wake()
          },
          { label: about?.label ?? 'timer', background: true },
        )
        return () => {
          isCanceled = true
          cancel()
        }
      },
      // Callers do not wait for a suspended process, but time waits for its earlier storage calls.
      hold: (hold): ReleaseHold => {
        if (state === 'paused' || hold.kind !== 'call') return () => undefined
        const giveBack = clock.hold(hold)
        const release = (): void => {
          if (held.delete(release)) giveBack()
        }
        held.add(release)
        return release
      },
    },
    storage: wrapStorage(storage, (_name, operation) => (...args) => {
      calls += 1
      if (calls >= call && state === 'running') pause()
      if (state !== 'paused') return operation(...args)
      return resumed.promise.then(() => operation(...args))
    }),
    get isPaused() {
      return state === 'paused'
    },
    resume() {
      state = 'resumed'
      resumed.resolve(undefined)
      for (const wake of late) wake()
    },
  }
}
