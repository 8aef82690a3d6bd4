import type { HoldingClock } from '../../contract/clock.ts'
import type { Storage } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { wrapStorage } from './wrapped.ts'

/** The storage with its pending operations reported to a clock, so that virtual time does not pass meanwhile. */
export function observedStorage(storage: Storage, clock: HoldingClock): Storage {
  return wrapStorage(storage, (name, operation) => (...args) => {
    const answer = operation(...args)
    if (!isPromise(answer)) return answer
    const release = clock.hold({ kind: 'call', id: `storage.${name}` })
    answer.then(release, release)
    return answer
  })
}
