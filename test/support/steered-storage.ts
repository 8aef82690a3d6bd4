import type { Storage, StorageOperation } from '../../src/contract/storage.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'

/** What becomes of one call of a storage. */
interface Steering {
  readonly name: StorageOperation
  /** Settles before the operation takes effect; rejects: it never does. */
  readonly before?: Promise<unknown>
  /** Settles before the answer comes; rejects: the effect is there, and the caller does not know. */
  readonly after?: Promise<unknown>
}

export interface SteeredStorage {
  readonly storage: Storage
  /** Every call so far, by name. */
  readonly calls: readonly StorageOperation[]
  /** The next call of `name` takes effect, and is answered when what this returns is called; with an error it rejects. */
  holdAnswer(name: StorageOperation): (lost?: Error) => void
  /** The next call of `name` takes effect when what this returns is called. */
  holdCall(name: StorageOperation): () => void
  /** The next calls of `name` reject, without effect. */
  fail(name: StorageOperation, times?: number): Error
  /** The next call of `name` takes effect and rejects. */
  loseAnswer(name: StorageOperation): Error
}

/**
 * A storage whose calls a test can hold back or fail, one by one. A run is inserted and claimed by two calls, unless it
 * `claimsNew`; a token is settled and its run resumed by two, unless it `resumesWaiting`.
 */
export function steeredStorage(
  storage: Storage,
  {
    claimsNew = false,
    resumesWaiting = false,
  }: { readonly claimsNew?: boolean; readonly resumesWaiting?: boolean } = {},
): SteeredStorage {
  const calls: StorageOperation[] = []
  const steerings: Steering[] = []
  const hold = (name: StorageOperation, moment: 'before' | 'after'): ((lost?: Error) => void) => {
    const { promise, resolve, reject } = createDeferred<undefined>()
    steerings.push({ name, [moment]: promise })
    return (lost) => (lost === undefined ? resolve(undefined) : reject(lost))
  }
  const refuse = (name: StorageOperation, moment: 'before' | 'after'): Error => {
    const error = new Error(`no answer to ${name}`)
    const refused = Promise.reject(error)
    refused.catch(() => undefined)
    steerings.push({ name, [moment]: refused })
    return error
  }
  const around = wrapStorage(storage, (name, operation) => (...args) => {
    calls.push(name)
    const index = steerings.findIndex((steering) => steering.name === name)
    const [steering] = index < 0 ? [] : steerings.splice(index, 1)
    if (steering === undefined) return operation(...args)
    return (async () => {
      await steering.before
      const answer = await operation(...args)
      await steering.after
      return answer
    })()
  })
  return {
    storage: { ...around, claimsNew, resumesWaiting },
    calls,
    holdAnswer: (name) => hold(name, 'after'),
    holdCall: (name) => hold(name, 'before'),
    fail(name, times = 1) {
      const errors = Array.from({ length: times }, () => refuse(name, 'before'))
      return errors[0] ?? new Error('never')
    },
    loseAnswer: (name) => refuse(name, 'after'),
  }
}
