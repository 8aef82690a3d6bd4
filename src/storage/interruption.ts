import type { RunRecord } from '../contract/records.ts'
import type { RunClaim } from '../contract/storage.ts'
import { finalDraft } from './run-draft.ts'

/** The final record of an interrupted run that is not executed again; by its epoch the attempt knows that it is over. */
export function endInstead(record: RunRecord, { now, maxInterruptions }: RunClaim): RunRecord | undefined {
  const epoch = record.epoch + 1
  if (record.returned) return Object.assign(finalDraft(record, { status: 'COMPLETED' }, now), { epoch })
  const interruptions = interruptionsOf(record)
  if (interruptions <= maxInterruptions || interruptions === record.interruptions) return undefined
  return Object.assign(finalDraft(record, { status: 'CRASHED' }, now), { epoch, interruptions })
}

/** Only a death while executing counts; an owner that left gracefully is no longer named. */
export function interruptionsOf({ status, owner, interruptions }: RunRecord): number {
  return status === 'EXECUTING' && owner !== undefined ? interruptions + 1 : interruptions
}
