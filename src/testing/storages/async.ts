import type { Storage } from '../../contract/storage.ts'
import { wrapStorage } from './wrapped.ts'

/**
 * The same storage, always answering with a promise: an operation takes effect a microtask after it was called, and its
 * answer comes a microtask later, as if it came over a connection that keeps the order of its calls.
 *
 * For code that would otherwise only ever see the synchronous answers of a memory storage.
 */
export function alwaysAsync(storage: Storage): Storage {
  return wrapStorage(storage, (_name, operation) => async (...args) => {
    await Promise.resolve()
    return operation(...args)
  })
}
