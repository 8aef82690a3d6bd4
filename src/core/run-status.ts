import type { RunStatus } from '../contract/records.ts'

const FINAL: readonly RunStatus[] = ['COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT', 'EXPIRED', 'CRASHED']

/** The statuses of a run that has not ended: what an update from outside expects. */
export const LIVE_STATUSES: readonly RunStatus[] = ['DELAYED', 'QUEUED', 'EXECUTING', 'WAITING']

/** Every status there is. */
export const STATUSES: readonly RunStatus[] = [...LIVE_STATUSES, ...FINAL]

/** The statuses of a run whose function is being called. */
export const ACTIVE_STATUSES: readonly RunStatus[] = ['EXECUTING', 'WAITING']

/** Whether a run in this status never changes again. */
export function isFinal(status: RunStatus): boolean {
  return !LIVE_STATUSES.includes(status)
}

/** What a status says in the words of the service's API. */
export interface StatusFlags {
  readonly isQueued: boolean
  readonly isExecuting: boolean
  readonly isWaiting: boolean
  readonly isCompleted: boolean
  readonly isSuccess: boolean
  readonly isFailed: boolean
  readonly isCancelled: boolean
}

/** A status as flags: exactly one of queued, executing, waiting and completed holds. */
export function statusFlags(status: RunStatus): StatusFlags {
  return {
    isQueued: status === 'QUEUED' || status === 'DELAYED',
    isExecuting: status === 'EXECUTING',
    isWaiting: status === 'WAITING',
    isCompleted: isFinal(status),
    isSuccess: status === 'COMPLETED',
    isFailed: isFinal(status) && status !== 'COMPLETED',
    isCancelled: status === 'CANCELED',
  }
}
