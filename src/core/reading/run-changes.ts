import type { RunRecord } from '../../contract/records.ts'
import type { Watcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { runNotFound } from '../host/not-found.ts'
import { GET_RUN } from '../host/storage-calls.ts'
import { awaited } from './run-results.ts'
import { liveAttempt } from '../attempt/attempt.ts'

/** Waits for the next change. A caller inside of a run does not move a test clock by waiting. */
export async function nextChange(kernel: Kernel, runId: string, watcher: Watcher): Promise<void> {
  const release = liveAttempt() === undefined ? kernel.host.clock.hold?.(awaited(runId, watcher)) : undefined
  try {
    await watcher.changed()
  } finally {
    release?.()
  }
}

/** The run as it is. */
export async function readRun(kernel: Kernel, runId: string): Promise<RunRecord> {
  const record = await kernel.call(() => kernel.asked(GET_RUN, runId))
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
