import type { RunStatus } from '../contract/records.ts'

/** Statuses that have other names in the service, older versions of its API and its database included, each as the nearest of an engine. */
export const OTHER_NAMES: Readonly<Record<string, RunStatus>> = {
  PENDING: 'QUEUED',
  WAITING_FOR_DEPLOY: 'PENDING_VERSION',
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

/** Those that the database has for a status. */
export const ROW_NAMES: Partial<Readonly<Record<RunStatus, string>>> = {
  QUEUED: 'PENDING',
  WAITING: 'WAITING_TO_RESUME',
  COMPLETED: 'COMPLETED_SUCCESSFULLY',
  FAILED: 'COMPLETED_WITH_ERRORS',
}

/** Those that older versions of the API have for a status. */
export const OLDER_NAMES: Partial<Readonly<Record<RunStatus, string>>> = {
  PENDING_VERSION: 'WAITING_FOR_DEPLOY',
}

/** Those that no run has here: an engine takes up a run and executes it at once, and no service is in between. */
export const OTHER_STATUSES = ['DEQUEUED', 'SYSTEM_FAILURE'] as const

/** Those that no run has here either, and that only older versions of the service know. */
export const OLDER_STATUSES: readonly string[] = ['REATTEMPTING', 'FROZEN', 'INTERRUPTED']
