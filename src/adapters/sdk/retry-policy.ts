import { requireOptions } from '../../primitives/require.ts'
import type { RetryOptions } from '../../api/retry.ts'
import type { RetryPolicy } from './hooks.ts'

/** What a policy leaves out, as it is told to `catchError`. */
export const DEFAULT_POLICY: RetryOptions = {
  maxAttempts: 3,
  factor: 2,
  minTimeoutInMs: 1_000,
  maxTimeoutInMs: 60_000,
  randomize: true,
}

/** The policy as the engine takes it. No attempts mean one, as in the hosted service. */
export function engineRetry({ outOfMemory, ...retry }: RetryPolicy, owner: string): RetryOptions {
  if (outOfMemory !== undefined)
    requireOptions(outOfMemory, `retry.outOfMemory of ${owner}`, { machine: true })
  return retry.maxAttempts === 0 ? { ...retry, maxAttempts: 1 } : retry
}
