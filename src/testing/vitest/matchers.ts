import type { TokenReference } from '../../api/token.ts'
import { toBeStuck, toBeWaitingFor, toFinishWithin, toHaveEmitted, toTimeOutIn } from './run-matchers.ts'
import type { AwaitableRun } from '../fixture/under-test.ts'

/** The matchers by name. A type alias, because `expect.extend` does not accept interfaces. */
export type RunMatchers = {
  readonly toBeWaitingFor: typeof toBeWaitingFor
  readonly toTimeOutIn: typeof toTimeOutIn
  readonly toFinishWithin: typeof toFinishWithin
  readonly toHaveEmitted: typeof toHaveEmitted
  readonly toBeStuck: typeof toBeStuck
}

/**
 * Matchers for runs of a test engine, for `expect.extend(matchers)`; `taskTest` installs them by itself. Await all of
 * them. See docs/testing.md.
 *
 * @example
 * ```ts
 * await expect(run).toBeWaitingFor(token)
 * await expect(run).toFinishWithin('5m')
 * ```
 */
export const matchers: RunMatchers = {
  toBeWaitingFor,
  toTimeOutIn,
  toFinishWithin,
  toHaveEmitted,
  toBeStuck,
}

/** Restricts a matcher to runs. */
type OfRun<Actual, Args extends readonly unknown[]> = Actual extends AwaitableRun
  ? (...args: Args) => Promise<void>
  : never

declare module 'vitest' {
  interface Matchers<T> {
    /** At rest, the run waits for this token. Time does not move. */
    readonly toBeWaitingFor: OfRun<T, [token: TokenReference]>
    /** At rest, the first timeout among the waits of the run comes after exactly this duration. Time does not move. */
    readonly toTimeOutIn: OfRun<T, [duration: number | string]>
    /** Moves time on until the run has ended, with any outcome, by at most this duration. */
    readonly toFinishWithin: OfRun<T, [duration: number | string]>
    /** At rest, the stream of the run has exactly these chunks so far, in order. */
    readonly toHaveEmitted: OfRun<T, [stream: string | { readonly id: string }, chunks: readonly unknown[]]>
    /** Moves time on, and expects that the run never ends for want of an answer. With `not` time does not move. */
    readonly toBeStuck: OfRun<T, []>
  }
}
