import type { RunRecord, RunStatus, TokenRecord } from '../contract/records.ts'

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

/** Every status a run can have. */
export const RUN_STATUSES: readonly RunStatus[] = [
  'DELAYED',
  'QUEUED',
  'EXECUTING',
  'WAITING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TIMED_OUT',
  'EXPIRED',
  'CRASHED',
]

export function isFinal(status: RunStatus): boolean {
  return status !== 'EXECUTING' && status !== 'WAITING' && status !== 'QUEUED' && status !== 'DELAYED'
}

/** Whether an attempt at the run is going on. */
export function isAttempted(status: RunStatus): boolean {
  return status === 'EXECUTING' || status === 'WAITING'
}

/** When a run that was never started expires. */
export function startBy(record: RunRecord): number | undefined {
  return record.attempt === 0 ? record.expiresAt : undefined
}
