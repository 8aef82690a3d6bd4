import type { CreateTokenOptions } from '../../api/token.ts'
import { show } from '../../primitives/require.ts'
import { ContextValue } from './context-value.ts'

/** The `createToken` that is under way, with the time-out that it was given. */
const underWay = new ContextValue<{ readonly timeout: unknown }>()

/**
 * Makes a call of `createToken`, and keeps the time-out that it is given, as the test or the task wrote it, until its token is
 * stored. Other calls are made as they are.
 */
export function notingTimeout<Answer>(name: string, given: unknown, make: () => Answer): Answer {
  if (name !== 'createToken') return make()
  // What is no object is refused.
  const { timeout } = Object(given) as CreateTokenOptions
  return underWay.run({ timeout }, make)
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
