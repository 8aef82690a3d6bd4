import type { KeyRecord, RunChange, RunRecord, TokenRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import type {
  AttemptFence,
  PushedChange,
  RunInsert,
  RunPush,
  RunsAmong,
  RunUpdate,
  TokenSettle,
} from '../../contract/storage.ts'
import { laneOf, RUN_COLUMNS, runValues, textsColumn } from '../sql-rows.ts'

/** Whether a request has what `keyLockColumns` answered. */
export function locksKey({ key_lock: keyLock }: { readonly key_lock?: string }): boolean {
  return keyLock !== undefined
}

/** The part of an insert that says how its key is locked. */
interface KeyedInsert {
  readonly record: { readonly key?: KeyRecord | undefined }
  readonly fence?: AttemptFence | undefined
  readonly mark?: number | undefined
}

const NONE: object = {}

const RUN_NAMES = RUN_COLUMNS.split(', ')

/** The column of every field that a change may have; `tags` is two. */
const CHANGED: Readonly<Record<Exclude<keyof RunChange, 'tags' | 'slot' | 'returned'>, string>> = {
  status: 'status',
  outputJson: 'output',
  errorJson: 'error',
  attemptsJson: 'attempts_json',
  epoch: 'epoch',
  owner: 'owner',
  slotUntil: 'slot_until',
  wakeAt: 'wake_at',
  expiresAt: 'expires_at',
  version: 'version',
  metadataJson: 'metadata',
  finishedAt: 'finished_at',
}

/**
 * What an idempotency key is locked by. A key that only an attempt asks for is under the lock of its run. Inserts with a mark are under
 * one lock for each scope, which is that of the mark too: those of two turns come to the marks of several schedules in any order.
 */
export function keyLockColumns({ record, fence, mark }: KeyedInsert): object {
  const { key } = record
  if (key === undefined || key.scope === fence?.runId) return NONE
  return { key_lock: mark === undefined ? keyLock(key) : key.scope }
}

export function keyLock({ scope, value }: Pick<KeyRecord, 'scope' | 'value'>): string {
  return `${scope}\n${value}`
}

export function fenceColumns({ fence }: { readonly fence?: AttemptFence | undefined }): object {
  return fence === undefined ? {} : { fence_run: fence.runId, fence_epoch: fence.epoch }
}

/** A transaction of the caller claims nothing: it may stay open for long, or be rolled back. */
export function claimColumns({ claim, transaction }: Pick<RunInsert, 'claim' | 'transaction'>): object {
  if (claim === undefined || transaction !== undefined) return NONE
  return { claim_tasks: claim.taskIds, claim_version: claim.version, claim_number: claim.number }
}

/** A transaction of the caller resumes nothing: see `claimColumns`. */
export function resumeColumns({ resume, transaction }: Pick<TokenSettle, 'resume' | 'transaction'>): object {
  if (resume === undefined || transaction !== undefined) return NONE
  return { resume_run: resume.runId, resume_epoch: resume.epoch }
}

export function amongColumns({ taskIds, tags }: RunsAmong): object {
  return { task_ids: taskIds, ...(tags === 'any' ? { any_tag: true } : { tags }) }
}

/** A run as an object of columns. */
export function runColumns(record: RunRecord): object {
  const columns: Record<string, unknown> = { lane: laneOf(record) }
  // The fewer columns are named, the less the server reads.
  for (const [at, value] of runValues(record).entries()) {
    if (value !== null) columns[RUN_NAMES[at] ?? ''] = value
  }
  if (record.tags.length > 0) columns['tag_list'] = record.tags
  return columns
}

/** A token as an object of columns. */
export function tokenColumns(record: TokenRecord): object {
  return {
    id: record.id,
    kind: record.kind,
    status: record.status,
    output: record.outputJson,
    timeout_at: record.timeoutAt,
    ...(record.tags.length > 0 && { tags: textsColumn(record.tags), tag_list: record.tags }),
    key_scope: record.key?.scope,
    key_value: record.key?.value,
    key_expires_at: record.key?.expiresAt,
    run_id: record.runId,
    created_at: record.createdAt,
    completed_at: record.completedAt,
  }
}

/** The column of every field that a push may replace, but for `tags`, which is two. */
const PUSHED: Readonly<Record<Exclude<keyof PushedChange, 'tags'>, string>> = {
  payloadJson: 'payload',
  metadataJson: 'metadata',
  optionsJson: 'options',
}

/** How a run is put off, as the part of an insert. */
export function pushColumns({ wakeAt, withinMs, change = {} }: RunPush): object {
  const columns: Record<string, unknown> = {}
  for (const [field, column] of Object.entries(PUSHED)) {
    if (field in change) columns[column] = change[field as keyof typeof PUSHED] ?? null
  }
  const { tags } = change
  const tagged = tags === undefined ? {} : { tags: textsColumn(tags), tag_list: tagList(tags) }
  return { wake_at: wakeAt, within: withinMs, change: { ...columns, ...tagged } }
}

/** How many fields the change has by which an attempt ends. */
const FIELDS_OF_END = 5

/** The change by which an attempt that executes ends its run, if it is one; all other changes are {@link changeColumns}. */
export function endColumns({ expected, change }: RunUpdate): object | undefined {
  const { status, outputJson, errorJson, finishedAt, slot } = change
  if (status === undefined || !isFinal(status) || finishedAt === undefined || slot !== false) return undefined
  const isWhole = 'outputJson' in change && 'errorJson' in change
  if (!isWhole || Object.keys(change).length !== FIELDS_OF_END || expected.status.some(isFinal))
    return undefined
  return { status, output: outputJson, error: errorJson, finished_at: finishedAt }
}

/** A change as an object of columns. A field without a value is NULL. */
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
