import type { KeyRecord, RunChange, RunRecord } from '../../contract/records.ts'
import type { AttemptFence } from '../../contract/storage.ts'
import { laneOf, RUN_COLUMNS, runValues, textsColumn } from '../sql-rows.ts'

/** So many locks stand for all idempotency keys: a server has room for some thousands. */
const BUCKETS = 1_024

const RUN_NAMES = RUN_COLUMNS.split(', ')

/** The column of every field that a change may have; `tags` is two. */
const CHANGED: Readonly<Record<Exclude<keyof RunChange, 'tags' | 'slot' | 'returned'>, string>> = {
  status: 'status',
  outputJson: 'output',
  errorJson: 'error',
  epoch: 'epoch',
  slotUntil: 'slot_until',
  wakeAt: 'wake_at',
  metadataJson: 'metadata',
  finishedAt: 'finished_at',
}

/** Which of the locks an idempotency key is under; none for none. */
export function keyBucket(key: KeyRecord | undefined): number | null {
  if (key === undefined) return null
  let hash = 0x811c9dc5
  const text = `${key.scope}\n${key.value}`
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % BUCKETS
}

export function fenceColumns({ fence }: { readonly fence?: AttemptFence | undefined }): object {
  return fence === undefined ? {} : { fence_run: fence.runId, fence_epoch: fence.epoch }
}

/** A run as an object of columns. */
export function runColumns(record: RunRecord): object {
  const values = runValues(record)
  return {
    ...Object.fromEntries(RUN_NAMES.map((name, at) => [name, values[at]])),
    tag_list: tagList(record.tags),
    lane: laneOf(record),
  }
}

/** A change as an object of columns. What is given without a value is NULL. */
export function changeColumns(change: RunChange): object {
  const columns: Record<string, unknown> = {}
  for (const [field, column] of Object.entries(CHANGED)) {
    if (field in change) columns[column] = change[field as keyof typeof CHANGED] ?? null
  }
  if ('slot' in change) columns['slot'] = Number(change.slot)
  if ('returned' in change) columns['returned'] = Number(change.returned)
  if (change.tags === undefined) return columns
  return { ...columns, tags: textsColumn(change.tags), tag_list: tagList(change.tags) }
}

function tagList(tags: readonly string[]): readonly string[] | null {
  return tags.length === 0 ? null : tags
}
