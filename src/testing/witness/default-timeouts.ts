import { AsyncLocalStorage } from 'node:async_hooks'
import type { WaitNamespace } from '../../api/token.ts'

/** Whether the `createToken` that is under way was given no time-out. */
const underWay = new AsyncLocalStorage<boolean>()

/**
 * Marks the calls of `createToken` that leave the time-out to the engine. The namespace is the one that all ways to an
 * engine end at: `engine.wait`, the `wait` of the module, the tools of a run and the HTTP handler.
 */
export function noteDefaultTimeouts(wait: WaitNamespace): void {
  const createToken = wait.createToken.bind(wait)
  wait.createToken = (options) => underWay.run(options?.timeout === undefined, () => createToken(options))
}

/** Whether the token that is being stored got the engine's default time-out. */
export function isTimeoutDefault(): boolean {
  return underWay.getStore() === true
}
