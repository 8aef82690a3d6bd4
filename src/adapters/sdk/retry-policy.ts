import { requireOptions } from '../../primitives/require.ts'
import type { RetryOptions } from '../../api/retry.ts'
import type { RetryPolicy } from './hooks.ts'

/** The policy as the engine takes it. No attempts mean one, as in the hosted service. */
export function engineRetry({ outOfMemory, ...retry }: RetryPolicy, owner: string): RetryOptions {
  if (outOfMemory !== undefined)
    requireOptions(outOfMemory, `retry.outOfMemory of ${owner}`, { machine: true })
  return retry.maxAttempts === 0 ? { ...retry, maxAttempts: 1 } : retry
}
