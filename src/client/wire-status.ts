import type { RunStatus } from '../contract/records.ts'
import { STATUSES } from '../core/run-status.ts'

/** The statuses of the service that have other names here: of its API, older ones included, and of its database. */
const OTHER_NAMES: Readonly<Record<string, RunStatus>> = {
  PENDING: 'QUEUED',
  PENDING_VERSION: 'QUEUED',
  WAITING_FOR_DEPLOY: 'QUEUED',
  DEQUEUED: 'EXECUTING',
  RETRYING_AFTER_FAILURE: 'EXECUTING',
  REATTEMPTING: 'EXECUTING',
  PAUSED: 'WAITING',
  WAITING_TO_RESUME: 'WAITING',
  FROZEN: 'WAITING',
  COMPLETED_SUCCESSFULLY: 'COMPLETED',
  COMPLETED_WITH_ERRORS: 'FAILED',
  INTERRUPTED: 'FAILED',
  SYSTEM_FAILURE: 'CRASHED',
}

const OWN: ReadonlySet<string> = new Set(STATUSES)

/** A status of the engine. One that nobody knows is of a run that failed, if it has ended, else of one that will go on. */
export function readRunStatus(status: string, hasEnded: boolean): RunStatus {
  // The list says so.
  if (OWN.has(status)) return status as RunStatus
  return OTHER_NAMES[status] ?? (hasEnded ? 'FAILED' : 'QUEUED')
}
