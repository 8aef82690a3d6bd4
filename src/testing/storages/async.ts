import type { Storage } from '../../contract/storage.ts'
import { wrapStorage } from './wrapped.ts'

/**
 * Makes every call of a storage answer with a promise. An operation takes effect one microtask after its call, and its
 * answer comes one microtask later, as over a connection that keeps the order of calls.
 *
 * It is for testing code that would otherwise only see the synchronous answers of a memory storage.
 */
export function alwaysAsync(storage: Storage): Storage {
  return wrapStorage(storage, (_name, operation) => async (...args) => {
    await Promise.resolve()
    return operation(...args)
  })
}
