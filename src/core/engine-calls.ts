import type { CurrentEngine } from './ambient/current-engine.ts'
import { findEngine, noEngine } from './ambient/current-engine.ts'
import type { CursorPagePromise } from '../api/cursor-page.ts'
import { cursorPages } from '../api/cursor-page.ts'
import type { Unwrappable } from '../api/token.ts'
import { rejectedWait } from './waits/waiter.ts'

/** Calls the engine that is found here; rejects where there is none, as everything that answers a promise does. */
export function askEngine<T>(call: (engine: CurrentEngine) => Promise<T>): Promise<T> {
  const engine = findEngine()
  return engine === undefined ? Promise.reject(noEngine()) : call(engine)
}

/** The same for waits, which can be unwrapped also where there is no engine. */
export function waitOnEngine<Result, Output>(
  call: (engine: CurrentEngine) => Unwrappable<Result, Output>,
): Unwrappable<Result, Output> {
  const engine = findEngine()
  return engine === undefined ? rejectedWait(noEngine()) : call(engine)
}

/** The same for lists, which can be iterated also where there is no engine. */
export function listOnEngine<Item>(
  call: (engine: CurrentEngine) => CursorPagePromise<Item>,
): CursorPagePromise<Item> {
  const engine = findEngine()
  return engine === undefined
    ? cursorPages(
        () => Promise.reject(noEngine()),
        () => ({}),
      )
    : call(engine)
}
