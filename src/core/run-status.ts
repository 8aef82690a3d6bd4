import type { RunStatus } from '../contract/records.ts'

/** Every status of the contract, and whether it is final: one more does not compile until it is here. */
const IS_FINAL: Readonly<Record<RunStatus, boolean>> = {
  DELAYED: false,
  QUEUED: false,
  EXECUTING: false,
  WAITING: false,
  COMPLETED: true,
  FAILED: true,
  CANCELED: true,
  TIMED_OUT: true,
  EXPIRED: true,
  CRASHED: true,
}

/** Every status there is. */
// The keys of the table are statuses.
export const STATUSES: readonly RunStatus[] = Object.keys(IS_FINAL) as RunStatus[]

/** The statuses of a run that has not ended: what an update from outside expects. */
export const LIVE_STATUSES: readonly RunStatus[] = STATUSES.filter((status) => !isFinal(status))

/** The statuses of a run whose function is being called. */
export const ACTIVE_STATUSES: readonly RunStatus[] = ['EXECUTING', 'WAITING']

/** Whether a run in this status never changes again. */
export function isFinal(status: RunStatus): boolean {
  return IS_FINAL[status]
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
