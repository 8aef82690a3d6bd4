import { describe, expect, it } from 'vitest'
import { type Storage, STORAGE_CALLS } from '../../../src/contract/storage.ts'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { callOf, withOperations, wrapStorage } from '../../../src/testing/storages/wrapped.ts'

/** The names of all functions that a storage has, with those of its parts. */
function functionsOf(part: object, prefix = ''): string[] {
  return Object.entries(part).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'function') return [prefix + name]
    return typeof value === 'object' && value !== null ? functionsOf(value, `${name}.`) : []
  })
}

/** The methods of a class are not its own properties. */
class StorageOfClass {
  readonly #memory = memoryStorage()
  readonly runs = this.#memory.runs
  readonly tokens = this.#memory.tokens
  readonly chunks = this.#memory.chunks
  readonly settings = this.#memory.settings
  get timesOut(): boolean {
    return this.#memory.timesOut === true
  }
  open(): void {
    void this.#memory.open()
  }
  tick(request: Parameters<Storage['tick']>[0]): ReturnType<Storage['tick']> {
    return this.#memory.tick(request)
  }
  subscribe(...args: Parameters<Storage['subscribe']>): ReturnType<Storage['subscribe']> {
    return this.#memory.subscribe(...args)
  }
  leave(request: Parameters<Storage['leave']>[0]): void {
    void this.#memory.leave(request)
  }
  prune(request: Parameters<Storage['prune']>[0]): ReturnType<Storage['prune']> {
    return this.#memory.prune(request)
  }
}

describe('wrapStorage', () => {
  it('wraps every call of a storage, and nothing else that it has', () => {
    const wrapped: string[] = []
    const storage = memoryStorage()
    const same = wrapStorage(storage, (name, operation) => {
      wrapped.push(name)
      return operation
    })
    const aside = ['subscribe', 'endedBytes']
    expect(wrapped.toSorted()).toEqual(
      functionsOf(storage)
        .filter((name) => !aside.includes(name))
        .toSorted(),
    )
    expect(Object.keys(same).toSorted()).toEqual(Object.keys(storage).toSorted())
    expect(Object.keys(STORAGE_CALLS).filter((name) => !wrapped.includes(name))).toEqual(['time'])
  })

  it('takes the methods of a class', () => {
    const called: string[] = []
    const storage = wrapStorage(new StorageOfClass(), (name, operation) => (...args) => {
      called.push(name)
      return operation(...args)
    })
    storage.subscribe('one', () => undefined)()
    expect(storage.timesOut).toBe(true)
    expect([storage.open(), storage.runs.get('none'), callOf(storage, 'runs.waits', ['none'])]).toEqual([
      undefined,
      undefined,
      [],
    ])
    expect(called).toEqual(['open', 'runs.get', 'runs.waits'])
  })
})

describe('withOperations', () => {
  it('makes some calls in another way, and adds none', () => {
    const { time, ...storage } = withOperations(new StorageOfClass(), {
      prune: () => 7,
      'runs.waits': () => [],
      time: () => 0,
    })
    expect([storage.prune({ before: 0, limit: 1, now: 0 }), storage.runs.get('none'), time]).toEqual([
      7,
      undefined,
      undefined,
    ])
  })
})
