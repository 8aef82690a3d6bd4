import type { CancelTimer, HoldingClock, ReleaseHold } from '../../src/contract/clock.ts'
import type { Storage } from '../../src/contract/storage.ts'
import type { TestClock } from '../../src/clock/test.ts'
import { memoryStorage } from '../../src/storage/memory/memory.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { chosenStorage } from '../../src/testing/storages/chosen.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'

/** The storage of this project, as createTestEngine makes it, for tests that share one. */
export function projectStorage(): Storage {
  return chosenStorage()
}

/** The storage itself if it answers within the turn; one in memory if it answers over a connection. */
export function storageOfThisProcess(): Storage {
  return isFarAway() ? memoryStorage() : chosenStorage()
}

/** The storage of this project; one in memory if that is away at times, for tests that an outage would take time from. */
export function steadyStorage(): Storage {
  return process.env['WAITPOINT_STORAGE'] === 'flaky' ? memoryStorage() : chosenStorage()
}

/** Whether the storage of this project is asked over a wire: how many calls there are is then a matter of luck. */
export function isFarAway(): boolean {
  return process.env['WAITPOINT_STORAGE'] === 'postgres'
}

/** Whether the storage of this project answers within the call. */
export function isInMemory(): boolean {
  return (process.env['WAITPOINT_STORAGE'] ?? 'memory') === 'memory'
}

/** In memory whatever the project is, answering as its storage does: for what only a storage in memory does. */
export function memoryOfProject(): Storage {
  return process.env['WAITPOINT_STORAGE'] === 'memory-async' ? alwaysAsync(memoryStorage()) : memoryStorage()
}

/** Is told of each storage call of a process. */
export interface CallWatch {
  before(): void
  after(): void
}

export interface AbandonablePorts<Clock extends HoldingClock = TestClock> {
  readonly clock: Clock
  readonly storage: Storage
  /** As if the process died: no call comes back, no timer fires, nothing is held. The storage stays as it is. */
  abandon(): void
}

/** The ports of an engine that will be gone from one moment to the next, without a chance to close. */
export function abandonable<Clock extends HoldingClock>(
  clock: Clock,
  storage: Storage,
  watch?: CallWatch,
): AbandonablePorts<Clock> {
  let isGone = false
  // The watch may abandon the process.
  const hasGone = (): boolean => isGone
  const cleanUps = new Set<() => void>()
  const tracked = (cleanUp: () => void): (() => void) => {
    cleanUps.add(cleanUp)
    return () => {
      cleanUps.delete(cleanUp)
      cleanUp()
    }
  }
  const nothing = (): void => undefined
  const never = new Promise<never>(nothing)
  return {
    clock: {
      ...clock,
      setTimer: (at, fire, about): CancelTimer =>
        isGone ? nothing : tracked(clock.setTimer(at, fire, about)),
      hold: (hold): ReleaseHold => (isGone ? nothing : tracked(clock.hold(hold))),
    },
    storage: {
      ...wrapStorage(storage, (_name, operation) => (...args) => {
        if (hasGone()) return never
        watch?.before()
        if (hasGone()) return never
        const answer = operation(...args)
        watch?.after()
        if (answer instanceof Promise) return answer.then((value) => (isGone ? never : value))
        return hasGone() ? never : answer
      }),
      subscribe: (owner, listener) =>
        storage.subscribe(owner, (hint) => (isGone ? undefined : listener(hint))),
    },
    abandon() {
      isGone = true
      for (const cleanUp of cleanUps) cleanUp()
      cleanUps.clear()
    },
  }
}
