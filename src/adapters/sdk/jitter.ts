import { type RetryOptions, retryDelayMs } from '../../api/retry.ts'
import { sha256 } from '../../primitives/digest.ts'

/**
 * The delay after attempt `attempt`, or `undefined` after the last one. What randomizes it is a digest of `seed`, so that a
 * run that is executed again asks for the wait that it asked for before.
 */
export function delayAfter(policy: RetryOptions, attempt: number, seed: string): number | undefined {
  const { maxAttempts, factor, minTimeoutInMs, maxTimeoutInMs, randomize } = policy
  const given = Object.entries({ maxAttempts, factor, minTimeoutInMs, maxTimeoutInMs, randomize })
  // Options that are `undefined` are left out.
  const options: RetryOptions = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  return retryDelayMs(
    options,
    attempt,
    () => Number.parseInt(sha256(`${seed}/${attempt}`, 'hex').slice(0, 8), 16) / 2 ** 32,
  )
}
