import type { KeyRecord, RunChange, RunRecord, TokenRecord, WaitRecord } from '../../contract/records.ts'
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
import { textsColumn, type Value } from '../../contract/columns.ts'
import { RUN_COLUMN_OF, RUN_COLUMNS, runValues } from '../../generated/run-record.ts'
import { TOKEN_COLUMNS, tokenValues } from '../../generated/token-record.ts'
import { WAIT_COLUMNS, waitValues } from '../../generated/wait-record.ts'
import { laneOf } from '../sql-rows.ts'

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
const TOKEN_NAMES = TOKEN_COLUMNS.split(', ')
const WAIT_NAMES = WAIT_COLUMNS.split(', ')

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
  return { resume_run: resume.runId, resume_epoch: resume.epoch, resume_parks: resume.parks }
}

export function amongColumns({ taskIds, tags }: RunsAmong): object {
  return { task_ids: taskIds, ...(tags === 'any' ? { any_tag: true } : { tags }) }
}

/** A run as an object of columns. */
export function runColumns(record: RunRecord): object {
  return { lane: laneOf(record), ...columnsOf(RUN_NAMES, runValues(record)), ...listColumns(record) }
}

/** A token as an object of columns. */
export function tokenColumns(record: TokenRecord): object {
  return { ...columnsOf(TOKEN_NAMES, tokenValues(record)), ...listColumns(record) }
}

/** A wait as an object of columns. */
export function waitColumns(record: WaitRecord): object {
  return columnsOf(WAIT_NAMES, waitValues(record))
}

/** The fewer columns are named, the less the server reads. */
function columnsOf(names: readonly string[], values: readonly Value[]): Record<string, unknown> {
  const columns: Record<string, unknown> = {}
  for (const [at, value] of values.entries()) {
    if (value !== null) columns[names[at] ?? ''] = value
  }
  return columns
}

function listColumns({ tags }: { readonly tags: readonly string[] }): object {
  return tags.length === 0 ? NONE : { tag_list: tags }
}

/** How a run is put off, as the part of an insert. */
export function pushColumns({ wakeAt, withinMs, change = {} }: RunPush): object {
  return { wake_at: wakeAt, within: withinMs, change: changeColumns(change) }
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
export function changeColumns({ tags, ...change }: RunChange | PushedChange): object {
  const columns: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(change)) {
    const column = RUN_COLUMN_OF[field]
    if (column !== undefined) columns[column] = typeof value === 'boolean' ? Number(value) : (value ?? null)
  }
  return tags === undefined ? columns : { ...columns, tags: textsColumn(tags), tag_list: tagList(tags) }
}

function tagList(tags: readonly string[]): readonly string[] | null {
  return tags.length === 0 ? null : tags
}
