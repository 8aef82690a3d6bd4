import { requireName } from '../../primitives/require.ts'
import { currentRun } from './current-run.ts'
import { WaitpointError } from '../../api/errors.ts'

/** The name of a value that an attempt has. */
export interface LocalsKey<Value> {
  readonly id: string
  readonly __type: symbol
  /** Only for the types. */
  readonly __valueType?: Value
}

/** Values of one attempt: set in its middleware, read in its functions. `set` outside of a run throws `ERR_NOT_IN_RUN`. */
export interface Locals {
  create<Value>(id: string): LocalsKey<Value>
  /** Nothing outside of a run. */
  get<Value>(key: LocalsKey<Value>): Value | undefined
  getOrThrow<Value>(key: LocalsKey<Value>): Value
  set<Value>(key: LocalsKey<Value>, value: Value): Value
}

function get<Value>(key: LocalsKey<Value>): Value | undefined {
  // Only `set` writes values, with the type of their key.
  return currentRun()?.locals.get(key.__type) as Value | undefined
}

/** `locals`. Keys of one id are one key. */
export const locals: Locals = {
  create: (id) => ({ id, __type: Symbol.for(`waitpoint/locals/${requireName(id, 'the id of a local')}`) }),
  get,
  getOrThrow: (key) => {
    const value = get(key)
    if (value === undefined) throw new TypeError(`Cannot get local "${key.id}": it has not been set`)
    return value
  },
  set: (key, value) => {
    const run = currentRun()
    if (run === undefined)
      throw new WaitpointError('ERR_NOT_IN_RUN', `Cannot set local "${key.id}" here: call it inside a task`)
    run.locals.set(key.__type, value)
    return value
  },
}
