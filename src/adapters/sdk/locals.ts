import { requireName } from '../../primitives/require.ts'
import { WaitpointError } from '../../api/errors.ts'
import { callingRun, type RunPlace } from '../../api/run-place.ts'
import { runs } from '../../core/ambient/ambient.ts'
import { currentRun } from './current-run.ts'

/** The name of a value that an attempt has. */
export interface LocalsKey<Value> {
  readonly id: string
  readonly __type: symbol
  /** Only for the types. */
  readonly __valueType?: Value
}

/**
 * Values of one attempt: set in its middleware, read in its functions, and in callbacks that it has left behind. `set` outside of a run
 * throws `ERR_NOT_IN_RUN`.
 */
export interface Locals {
  create<Value>(id: string): LocalsKey<Value>
  /** Nothing outside of a run. */
  get<Value>(key: LocalsKey<Value>): Value | undefined
  getOrThrow<Value>(key: LocalsKey<Value>): Value
  set<Value>(key: LocalsKey<Value>, value: Value): Value
}

/** The values of each attempt by their keys, for as long as its code can ask for them. */
const valuesOfAttempts = new WeakMap<RunPlace, Map<symbol, unknown>>()

/** Those of the attempt that calls, or has called before it ended: a timer that sets a value then must not end the process. */
function values(): Map<symbol, unknown> | undefined {
  const place = currentRun()?.place ?? callingRun(runs)
  if (place === undefined) return undefined
  const found = valuesOfAttempts.get(place) ?? new Map<symbol, unknown>()
  valuesOfAttempts.set(place, found)
  return found
}

function get<Value>(key: LocalsKey<Value>): Value | undefined {
  // Only `set` writes values, with the type of their key.
  return values()?.get(key.__type) as Value | undefined
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
    const all = values()
    if (all === undefined)
      throw new WaitpointError('ERR_NOT_IN_RUN', `Cannot set local "${key.id}" here: call it inside a task`)
    all.set(key.__type, value)
    return value
  },
}
