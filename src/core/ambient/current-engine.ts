import type { Unsubscribe } from '../../contract/storage.ts'
import { WaitpointError } from '../../api/errors.ts'
import { currentAttempt, endError, refuse, type EngineNamespaces } from '../attempt/attempt.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import { cursorPages } from '../../api/cursor-page.ts'
import type { Unwrappable } from '../../api/token.ts'
import { rejectedWait } from '../waits/waiter.ts'

/** Boxed, so that undoing one call of `makeDefault` never undoes a later one. */
let defaultEngine: { readonly engine: EngineNamespaces } | undefined

/** Makes an engine the one that is found outside of runs. */
export function setDefaultEngine(engine: EngineNamespaces): Unsubscribe {
  if (defaultEngine !== undefined) {
    throw new WaitpointError(
      'ERR_ENGINE_OPEN',
      'Cannot make this engine the default: there is one already; dispose of it first',
    )
  }
  const made = { engine }
  defaultEngine = made
  return () => {
    if (defaultEngine === made) defaultEngine = undefined
  }
}

/** Looks for the engine of a function; answers the error where there is none. */
export type FindEngine = () => EngineNamespaces | Error

/** The engine of the run the caller is in, even if another one is the default; outside of runs the default. */
export function findEngine(): EngineNamespaces | Error {
  const attempt = currentAttempt()
  if (attempt === undefined) return defaultEngine?.engine ?? noEngine()
  return attempt.isEnded ? endError(attempt) : attempt.kernel.namespaces
}

/** The engine that is found, with its values as they are stored. */
export function findStored(): EngineNamespaces | Error {
  const engine = findEngine()
  return engine instanceof Error ? engine : (engine.stored ?? engine)
}

/**
 * The engine that is found here, for functions that cannot reject: also that of an attempt which has ended, where they have no
 * effect.
 *
 * @throws WaitpointError `ERR_NO_ENGINE` when there is none.
 */
export function currentEngine(find: FindEngine = findEngine): EngineNamespaces {
  const engine = find()
  if (!(engine instanceof Error)) return engine
  const attempt = currentAttempt()
  if (attempt?.isEnded === true) return attempt.kernel.namespaces
  throw engine
}

/** Like `currentEngine()` for what only asks when it is used: after the end of the attempt its calls reject. */
export function lateOnEngine<Result>(
  make: (engine: EngineNamespaces) => Result,
  ended: (refused: () => Promise<never>) => Result,
  find: FindEngine = findEngine,
): Result {
  const engine = find()
  if (!(engine instanceof Error)) return make(engine)
  if (currentAttempt()?.isEnded !== true) throw engine
  return ended(() => refuse(engine))
}

/** The error where no engine is found. */
function noEngine(): WaitpointError {
  return new WaitpointError(
    'ERR_NO_ENGINE',
    'Cannot find an engine here: call this inside a task, use the namespaces of an engine (engine.wait …), or call engine.makeDefault() first',
  )
}

/** Calls the engine that is found here; rejects where there is none, as everything that answers a promise does. */
export function askEngine<T>(
  call: (engine: EngineNamespaces) => Promise<T>,
  find: FindEngine = findEngine,
): Promise<T> {
  const engine = find()
  return engine instanceof Error ? refuse(engine) : call(engine)
}

/** Like `askEngine()` for waits, which can be unwrapped also where there is no engine. */
export function waitOnEngine<Result, Output>(
  call: (engine: EngineNamespaces) => Unwrappable<Result, Output>,
  find: FindEngine = findEngine,
): Unwrappable<Result, Output> {
  const engine = find()
  return engine instanceof Error ? rejectedWait(() => refuse(engine)) : call(engine)
}

/** Like `askEngine()` for lists, which can be iterated also where there is no engine. */
export function listOnEngine<Item>(
  call: (engine: EngineNamespaces) => CursorPagePromise<Item>,
  find: FindEngine = findEngine,
): CursorPagePromise<Item> {
  const engine = find()
  if (!(engine instanceof Error)) return call(engine)
  return cursorPages(
    () => refuse(engine),
    () => ({}),
  )
}
