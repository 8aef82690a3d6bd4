import type { Unsubscribe } from '../../contract/storage.ts'
import { WaitpointError } from '../../api/errors.ts'
import { currentAttempt, type EngineNamespaces } from '../attempt/attempt.ts'
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

/** The engine of the run the caller is in, whatever the default is; outside of runs the default, if there is one. */
function findEngine(): EngineNamespaces | undefined {
  const attempt = currentAttempt()
  return attempt === undefined ? defaultEngine?.engine : attempt.kernel.namespaces
}

/**
 * The engine that is found here.
 *
 * @throws WaitpointError `ERR_NO_ENGINE` when there is none.
 */
export function currentEngine(): EngineNamespaces {
  const engine = findEngine()
  if (engine === undefined) throw noEngine()
  return engine
}

/** The error where no engine is found. */
function noEngine(): WaitpointError {
  return new WaitpointError(
    'ERR_NO_ENGINE',
    'Cannot find an engine here: call this inside a task, use the namespaces of an engine (engine.wait …), or call engine.makeDefault() first',
  )
}

/** Calls the engine that is found here; rejects where there is none, as everything that answers a promise does. */
export function askEngine<T>(call: (engine: EngineNamespaces) => Promise<T>): Promise<T> {
  const engine = findEngine()
  return engine === undefined ? Promise.reject(noEngine()) : call(engine)
}

/** Like `askEngine()` for waits, which can be unwrapped also where there is no engine. */
export function waitOnEngine<Result, Output>(
  call: (engine: EngineNamespaces) => Unwrappable<Result, Output>,
): Unwrappable<Result, Output> {
  const engine = findEngine()
  return engine === undefined ? rejectedWait(noEngine()) : call(engine)
}

/** Like `askEngine()` for lists, which can be iterated also where there is no engine. */
export function listOnEngine<Item>(
  call: (engine: EngineNamespaces) => CursorPagePromise<Item>,
): CursorPagePromise<Item> {
  const engine = findEngine()
  return engine === undefined
    ? cursorPages(
        () => Promise.reject(noEngine()),
        () => ({}),
      )
    : call(engine)
}
