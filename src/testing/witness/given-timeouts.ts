import type { WaitNamespace } from '../../api/token.ts'
import { show } from '../../primitives/require.ts'
import { ContextValue } from './context-value.ts'

/** The `createToken` that is under way, with the time-out that it was given. */
const underWay = new ContextValue<{ readonly timeout: unknown }>()

/**
 * Keeps the time-outs that calls of `createToken` were given, as the test or the task wrote them. The namespace is the one
 * that all ways to an engine end at: `engine.wait`, the `wait` of the module, the tools of a run and the HTTP handler.
 */
export function noteGivenTimeouts(wait: WaitNamespace): void {
  const createToken = wait.createToken.bind(wait)
  const noted: WaitNamespace['createToken'] = (options) =>
    underWay.run({ timeout: options?.timeout }, () => createToken(options))
  wait.createToken = noted
}

/** Whether the token that is being stored got the engine's default time-out. */
export function isTimeoutDefault(): boolean {
  const call = underWay.get()
  return call !== undefined && call.timeout === undefined
}

/** The time-out of the token that is being stored, as it was written: `30 d`; `undefined` if none was given. */
export function writtenTimeout(): string | undefined {
  const timeout = underWay.get()?.timeout
  if (timeout === undefined) return undefined
  return typeof timeout === 'string' ? timeout : show(timeout)
}
