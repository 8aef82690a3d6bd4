import type { Clock } from '../../contract/clock.ts'
import type { Storage } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { STORAGE } from '../diagnostics.ts'

type Operation = (...args: readonly unknown[]) => unknown

/** The engine that calls. */
interface CallingEngine {
  readonly clock: Clock
  readonly owner: string
}

/** What is no call: it answers at once, and says nothing of how fast the storage is. */
const QUIET: readonly string[] = ['subscribe', 'endedBytes'] satisfies (keyof Storage)[]

/** A storage whose calls are published when they are answered. Made for engines that a subscriber listens to. */
export function publishingStorage(storage: Storage, engine: CallingEngine): Storage {
  return publishing(storage, engine, '')
}

/** The target of the proxy is empty: a frozen storage would forbid it to answer other functions. */
function publishing<Part extends object>(part: Part, engine: CallingEngine, prefix: string): Part {
  const made: Record<string, unknown> = {}
  const make = (name: string): unknown => {
    const value: unknown = Reflect.get(part, name)
    if (typeof value === 'function') {
      const operation = value.bind(part) as Operation
      return QUIET.includes(name) ? operation : told(prefix + name, operation, engine)
    }
    return typeof value === 'object' && value !== null ? publishing(value, engine, `${name}.`) : value
  }
  // It has every property of the part, by `get`.
  return new Proxy({}, { get: (_target, name: string) => (made[name] ??= make(name)) }) as Part
}

function told(call: string, operation: Operation, engine: CallingEngine): Operation {
  const { clock } = engine
  return (...args) => {
    const calledAt = clock.now()
    const publish = (failure?: { readonly error: unknown }): void =>
      STORAGE.publish({ engine: engine.owner, call, calledAt, at: clock.now(), ...failure })
    const failed = (error: unknown): void => publish({ error })
    try {
      const answer = operation(...args)
      if (isPromise(answer)) answer.then(() => publish(), failed)
      else publish()
      return answer
    } catch (error) {
      failed(error)
      throw error
    }
  }
}
