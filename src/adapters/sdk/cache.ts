import { plainClock } from '../../clock/plain.ts'
import { requireMethods } from '../../primitives/require.ts'
import type { Untyped } from './untyped.ts'

/** When a value was stored. */
export interface CacheMetadata {
  /** Milliseconds since 1970. */
  createdTime: number
  /** For the store: a cache reads what the store answers. */
  ttl?: number | null
}

/** A value as a store has it. */
export interface CacheEntry<Value = unknown> {
  metadata: CacheMetadata
  value: Value
}

/** What a store answers, at once or later. */
export type Eventually<Value> = Value | null | undefined | Promise<Value | null | undefined>

/** Where a cache keeps its values. */
export interface CacheStore<Value = Untyped> {
  name?: string
  get: (key: string) => Eventually<CacheEntry<Value>>
  set: (key: string, value: CacheEntry<Value>) => unknown
  delete: (key: string) => unknown
}

/** Answers the stored value of a key, or else stores and answers what a function answers. */
export type CacheFunction = <Value>(
  cacheKey: string,
  fn: () => Promise<Value> | Value,
) => Promise<Value> | Value

/** A store in the memory of the process. It lives as long as the module that has it, over all runs. */
export class InMemoryCache<Value = Untyped> {
  readonly #entries = new Map<string, CacheEntry<Value>>()

  get(key: string): Eventually<CacheEntry<Value>> {
    return this.#entries.get(key)
  }

  set(key: string, value: CacheEntry<Value>): unknown {
    this.#entries.set(key, value)
    return undefined
  }

  delete(key: string): unknown {
    this.#entries.delete(key)
    return undefined
  }
}

/**
 * A cache on a store. A function that throws stores nothing.
 *
 * @throws TypeError for what is no store.
 */
export function createCache(store: CacheStore): CacheFunction {
  requireMethods(store, 'the store of createCache', ['get', 'set', 'delete'])
  return async <Value>(key: string, make: () => Promise<Value> | Value) => {
    const known = await store.get(key)
    // The store has what was made for the key before.
    if (known) return known.value as Value
    const value = await make()
    await store.set(key, { value, metadata: { createdTime: plainClock().now() } })
    return value
  }
}
