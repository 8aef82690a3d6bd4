import type { Storage, StorageOperation } from '../../src/contract/storage.ts'
import { StorageUnavailableError } from '../../src/contract/storage-unavailable.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'

/** What becomes of calls while a storage is away: nothing, or everything but the answer. */
export type Outage = 'nothing is done' | 'answers are lost'

export interface AwayStorage {
  readonly storage: Storage
  /** Calls that failed because the storage was away. */
  readonly failed: readonly StorageOperation[]
  /** From now on the storage is away; or once it has answered so many calls more. */
  goAway(outage?: Outage, afterCalls?: number): void
  comeBack(): void
}

/** A storage that can be switched off, as a server is that is started anew. */
export function awayStorage(storage: Storage): AwayStorage {
  const failed: StorageOperation[] = []
  let away: Outage | undefined
  let answers = 0
  const fail = (name: StorageOperation): never => {
    failed.push(name)
    const options = { mayBeDone: away === 'answers are lost' }
    throw new StorageUnavailableError(`the server is being started anew`, options)
  }
  return {
    failed,
    storage: wrapStorage(storage, (name, operation) => (...args) => {
      if (away === undefined) return operation(...args)
      if (answers > 0) {
        answers -= 1
        return operation(...args)
      }
      if (away === 'nothing is done') return fail(name)
      const answer = operation(...args)
      return answer instanceof Promise ? answer.then(() => fail(name)) : fail(name)
    }),
    goAway(outage = 'nothing is done', afterCalls = 0) {
      away = outage
      answers = afterCalls
    },
    comeBack: () => void (away = undefined),
  }
}
