import type { RunStatus } from '../contract/records.ts'

const FINAL: ReadonlySet<RunStatus> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TIMED_OUT',
  'EXPIRED',
  'CRASHED',
])

/** The statuses of a run that has not ended: what an update from outside expects. */
export const LIVE_STATUSES: readonly RunStatus[] = ['DELAYED', 'QUEUED', 'EXECUTING', 'WAITING']

/** The statuses of a run whose function is being called. */
export const ACTIVE_STATUSES: readonly RunStatus[] = ['EXECUTING', 'WAITING']

/** Whether a run in this status never changes again. */
export function isFinal(status: RunStatus): boolean {
  return FINAL.has(status)
}
