import type { RunRecord, RunStatus, TokenRecord } from './records.ts'

/** What starts the id of a token that stands for the end of a run. */
export const RUN_PREFIX = 'run:'

/** The id of the token that stands for the end of a run. */
export function runTokenId(runId: string): string {
  return RUN_PREFIX + runId
}

/** The token that stands for the end of a run. */
export function tokenOfRun({ id, status, createdAt, finishedAt }: RunRecord): TokenRecord {
  const token = { id: runTokenId(id), kind: 'RUN', tags: [], createdAt } as const
  return isFinal(status)
    ? { ...token, status: 'COMPLETED', completedAt: finishedAt }
    : { ...token, status: 'WAITING' }
}

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

/** Every status a run can have. */
// The keys of the table are statuses.
export const RUN_STATUSES: readonly RunStatus[] = Object.keys(IS_FINAL) as RunStatus[]

export function isFinal(status: RunStatus): boolean {
  return IS_FINAL[status]
}

/** Whether an attempt at the run is going on. */
export function isAttempted(status: RunStatus): boolean {
  return status === 'EXECUTING' || status === 'WAITING'
}

/** When a run that was never started expires. */
export function startBy(record: RunRecord): number | undefined {
  return record.attempt === 0 ? record.expiresAt : undefined
}
