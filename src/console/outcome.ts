import type { RunRecord, RunStatus } from '../contract/records.ts'
import { isFinal, RUN_STATUSES } from '../contract/run-states.ts'

/** What a run has ended as that it should not have; a canceled one was told to. */
export const FAILURES: readonly RunStatus[] = RUN_STATUSES.filter(
  (status) => isFinal(status) && status !== 'COMPLETED' && status !== 'CANCELED',
)

/** How long runs took that completed, in milliseconds, the shortest first. */
export function durationsOf(records: readonly RunRecord[]): readonly number[] {
  return records
    .filter(({ status }) => status === 'COMPLETED')
    .map(({ startedAt = 0, finishedAt = 0 }) => finishedAt - startedAt)
    .sort((one, other) => one - other)
}

/** What so much of all took at most, of sorted durations: 0.5 is the median. */
export function quantile(took: readonly number[], part: number): number {
  return took[Math.max(0, Math.ceil(took.length * part) - 1)] ?? 0
}
