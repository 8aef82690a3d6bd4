import type { TokenReference } from '../../api/token.ts'
import { toBeStuck, toBeWaitingFor, toFinishWithin, toHaveEmitted, toTimeOutIn } from './run-matchers.ts'
import type { AwaitableRun } from '../fixture/under-test.ts'

/** The matchers of this entry by their names. No interface: those cannot be given to `expect.extend`. */
export type RunMatchers = {
  readonly toBeWaitingFor: typeof toBeWaitingFor
  readonly toTimeOutIn: typeof toTimeOutIn
  readonly toFinishWithin: typeof toFinishWithin
  readonly toHaveEmitted: typeof toHaveEmitted
  readonly toBeStuck: typeof toBeStuck
}

/**
 * What can be expected of a run that was triggered on a test engine, for `expect.extend(matchers)`; `taskTest` sees to
 * that by itself. All of them are to be awaited.
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

/** Only a run can be expected to do what runs do. */
type OfRun<Actual, Args extends readonly unknown[]> = Actual extends AwaitableRun
  ? (...args: Args) => Promise<void>
  : never

declare module 'vitest' {
  interface Matchers<T> {
    /** At rest, the run waits for this token. Time does not move. */
    readonly toBeWaitingFor: OfRun<T, [token: TokenReference]>
    /** At rest, what the run waits for times out first after exactly this long. Time does not move. */
    readonly toTimeOutIn: OfRun<T, [duration: number | string]>
    /** Time moves on until the run has ended, whatever its outcome, or at most this far. */
    readonly toFinishWithin: OfRun<T, [duration: number | string]>
    /** At rest, these are the chunks of a stream of the run so far, in order. */
    readonly toHaveEmitted: OfRun<T, [stream: string | { readonly id: string }, chunks: readonly unknown[]]>
    /** Time moves on until the run has ended, which it never does for want of an answer. */
    readonly toBeStuck: OfRun<T, []>
  }
}
