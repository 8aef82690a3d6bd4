import type { RunRecord } from '../../contract/records.ts'
import type { Watcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { runNotFound } from '../../api/not-found.ts'
import { GET_RUN } from '../host/storage-calls.ts'
import { holdCaller } from './run-results.ts'
import { liveAttempt } from '../attempt/attempt.ts'

/** Waits for the next change. */
export async function nextChange(kernel: Kernel, runId: string, watcher: Watcher): Promise<void> {
  // Another flow of the run may bring about a change of the run itself.
  const release = liveAttempt()?.id === runId ? undefined : holdCaller(kernel, runId, watcher)
  try {
    await watcher.changed()
  } finally {
    release?.()
  }
}

/** The run as it is. */
export async function readRun(kernel: Kernel, runId: string): Promise<RunRecord> {
  const record = await kernel.read(() => kernel.asked(GET_RUN, runId))
  if (record === undefined) throw runNotFound(runId)
  return record
}

/** Whether one record of a run shows something that the record shown before does not. */
export function isChanged(shown: RunRecord | undefined, record: RunRecord): boolean {
  if (shown === undefined) return true
  return (
    shown.updatedAt !== record.updatedAt ||
    shown.status !== record.status ||
    shown.attempt !== record.attempt ||
    shown.epoch !== record.epoch ||
    shown.wakeAt !== record.wakeAt ||
    shown.metadataJson !== record.metadataJson ||
    shown.streams.length !== record.streams.length ||
    shown.tags.length !== record.tags.length
  )
}
