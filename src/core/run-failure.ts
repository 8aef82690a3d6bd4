import type { RunStatus } from '../contract/records.ts'
import { type ErrorCode, RunFailedError } from '../api/errors.ts'

/** A run that has ended, as far as its error tells of it. */
export interface EndedRun {
  readonly id: string
  readonly taskId: string
  readonly status: RunStatus
}

const FAILURES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FAILED: ['ERR_RUN_FAILED', 'it failed'],
  CANCELED: ['ERR_RUN_CANCELED', 'it was canceled'],
  TIMED_OUT: ['ERR_RUN_TIMED_OUT', 'it exceeded its maxDuration'],
  EXPIRED: ['ERR_RUN_EXPIRED', 'it expired before it could start'],
  CRASHED: ['ERR_RUN_CRASHED', 'it was interrupted too often'],
}

/** The error of a run that ended without an output; `cause` is what its task threw last. */
export function failureOf({ id, taskId, status }: EndedRun, cause: Error | undefined): RunFailedError {
  const [code, why] = FAILURES[status] ?? ['ERR_RUN_FAILED', 'it ended']
  const because = cause === undefined ? why : `${why}: ${cause.message}`
  const message = `Cannot get the output of run "${id}" of task "${taskId}": ${because}`
  return new RunFailedError(code, message, { runId: id, cause })
}
