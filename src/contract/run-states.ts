import type { RunRecord, RunStatus, TokenRecord, TokenStatus } from './records.ts'

/** Every status of the contract, and whether it is final: one more does not compile until it is here. */
const IS_FINAL: Readonly<Record<RunStatus, boolean>> = {
  DELAYED: false,
  QUEUED: false,
  EXECUTING: false,
  WAITING: false,
  PENDING_VERSION: false,
  COMPLETED: true,
  FAILED: true,
  CANCELED: true,
  TIMED_OUT: true,
  EXPIRED: true,
  CRASHED: true,
}

/** Every status a run can have. */
// The keys of the table are statuses.
export const RUN_STATUSES: readonly RunStatus[] = /* @__PURE__ */ Object.keys(IS_FINAL) as RunStatus[]

/** Every status a token can have. */
export const TOKEN_STATUSES: readonly TokenStatus[] = ['WAITING', 'COMPLETED', 'TIMED_OUT']

/** A status in which a run never changes again. */
export type EndStatus = Extract<
  RunStatus,
  'COMPLETED' | 'FAILED' | 'CANCELED' | 'TIMED_OUT' | 'EXPIRED' | 'CRASHED'
>

/** Whether a run in this status never changes again. */
export function isFinal(status: RunStatus): status is EndStatus {
  return IS_FINAL[status]
}

/** The statuses of a run that has not ended. An update from outside expects one of them. */
export const LIVE_STATUSES: readonly RunStatus[] = /* @__PURE__ */ RUN_STATUSES.filter(
  (status) => !isFinal(status),
)

/** The statuses of a run whose function is being called. */
export const ACTIVE_STATUSES: readonly RunStatus[] = ['EXECUTING', 'WAITING']

/** Whether an attempt at the run is going on. */
export function isAttempted(status: RunStatus): boolean {
  return ACTIVE_STATUSES.includes(status)
}

/** A status in the words of the service's API. */
export interface StatusFlags {
  readonly isQueued: boolean
  readonly isExecuting: boolean
  readonly isWaiting: boolean
  readonly isCompleted: boolean
  readonly isSuccess: boolean
  readonly isFailed: boolean
  readonly isCanceled: boolean
  readonly isCancelled: boolean
}

/** A status as flags: exactly one of queued, executing, waiting and completed holds. */
export function statusFlags(status: RunStatus): StatusFlags {
  const isCanceled = status === 'CANCELED'
  return {
    isQueued: status === 'QUEUED' || status === 'DELAYED' || status === 'PENDING_VERSION',
    isExecuting: status === 'EXECUTING',
    isWaiting: status === 'WAITING',
    isCompleted: isFinal(status),
    isSuccess: status === 'COMPLETED',
    isFailed: isFinal(status) && status !== 'COMPLETED',
    isCanceled,
    isCancelled: isCanceled,
  }
}

/** When a run that was never started expires. */
export function startBy(record: RunRecord): number | undefined {
  return record.attempt === 0 ? record.expiresAt : undefined
}

/** Where a run stands in line to be claimed: the lowest comes first. */
export function placeInLine({ status, wakeAt, createdAt, priorityMs = 0 }: RunRecord): number {
  return ((status === 'DELAYED' ? wakeAt : undefined) ?? createdAt) - priorityMs
}

/** The prefix of the ids of tokens that stand for the end of a run. */
export const RUN_PREFIX = 'run:'

/** The id of the token that settles when a run ends. */
export function runTokenId(runId: string): string {
  return RUN_PREFIX + runId
}

/** The run whose end a token stands for, if it is such a token. */
export function runIdOfToken(tokenId: string): string | undefined {
  return tokenId.startsWith(RUN_PREFIX) ? tokenId.slice(RUN_PREFIX.length) : undefined
}

/** The token that stands for the end of a run. */
export function tokenOfRun({ id, status, createdAt, finishedAt }: RunRecord): TokenRecord {
  const token = { id: runTokenId(id), kind: 'RUN', tags: [], createdAt } as const
  return isFinal(status)
    ? { ...token, status: 'COMPLETED', completedAt: finishedAt }
    : { ...token, status: 'WAITING' }
}
