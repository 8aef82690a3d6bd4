import { LAST_INSTANT } from '../primitives/duration.ts'
import type { OptionNames } from '../primitives/require.ts'
import { requireFlag, requireOptions, requireWhole, show } from '../primitives/require.ts'

/** How a task is called again after it threw. The defaults hold for what a given `retry` leaves out. */
export interface RetryOptions {
  /**
   * Calls in all, the first one included.
   *
   * @unit attempts
   * @default `3`
   */
  readonly maxAttempts?: number
  /**
   * Each delay is the one before, times this.
   *
   * @default `2`
   */
  readonly factor?: number
  /**
   * The delay before the second attempt.
   *
   * @default `1_000`
   */
  readonly minTimeoutInMs?: number
  /**
   * The longest delay.
   *
   * @default `60_000`
   */
  readonly maxTimeoutInMs?: number
  /**
   * Whether each delay is made longer by chance, up to twice as long.
   *
   * @default `true`
   */
  readonly randomize?: boolean
}

const NAMES: OptionNames<RetryOptions> = {
  maxAttempts: true,
  factor: true,
  minTimeoutInMs: true,
  maxTimeoutInMs: true,
  randomize: true,
}

/** Checks the options of a task when it is defined, so that a wrong one never reaches a failing run. */
export function checkRetry(options: RetryOptions, owner: string): void {
  requireOptions(options, `retry of ${owner}`, NAMES)
  const { maxAttempts, factor, minTimeoutInMs, maxTimeoutInMs, randomize } = options
  if (maxAttempts !== undefined) requireWhole(maxAttempts, 'retry.maxAttempts', { from: 1 })
  requireFlag(randomize, 'retry.randomize')
  requireWithin({ factor }, { from: 1, to: Number.MAX_VALUE }, owner)
  requireWithin({ minTimeoutInMs, maxTimeoutInMs }, { from: 0, to: LAST_INSTANT }, owner)
}

function requireWithin(
  option: Readonly<Record<string, number | undefined>>,
  { from, to }: { readonly from: number; readonly to: number },
  owner: string,
): void {
  for (const [name, value] of Object.entries(option)) {
    if (value === undefined || (value >= from && value <= to)) continue
    const why = value > to && value < Infinity ? 'no date is that far ahead' : `it must be at least ${from}`
    throw new RangeError(`Cannot use retry.${name} ${show(value)} of ${owner}: ${why}`)
  }
}

/** The attempts of a policy that names no number. */
export const MAX_ATTEMPTS = 3

/** Milliseconds to wait after attempt `attempt` failed, or `undefined` when it was the last. */
export function retryDelayMs(
  {
    maxAttempts = MAX_ATTEMPTS,
    factor = 2,
    minTimeoutInMs = 1_000,
    maxTimeoutInMs = 60_000,
    randomize = true,
  }: RetryOptions,
  attempt: number,
  fraction: () => number,
): number | undefined {
  if (attempt >= maxAttempts) return undefined
  const spread = randomize ? 1 + fraction() : 1
  // The factor may have grown to infinity, and no time at all times infinity is not a number.
  if (minTimeoutInMs === 0) return 0
  return Math.round(Math.min(maxTimeoutInMs, minTimeoutInMs * factor ** (attempt - 1) * spread))
}
