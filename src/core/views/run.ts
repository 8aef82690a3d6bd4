import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { RunFailedError } from '../../api/errors.ts'
import type { RetrievedRun, Run, RunAttempt, WaitingOn } from '../../api/run.ts'
import type { RunOwner } from '../../api/run-owner.ts'
import { failureOf } from '../../api/errors.ts'
import { stackOfTask } from '../host/error-to-json.ts'
import { debounceKeyOf, isUserKey } from '../../contract/key-scopes.ts'
import { statusFlags } from '../../contract/run-states.ts'
import { valuesByKey } from '../../primitives/values-by-key.ts'
import type { RunOverrides } from '../../api/task-definition.ts'
import { errorFromJson, fromJson, storedError } from '../../api/serialize.ts'
import { type StoredAttempt, storedAttempts } from '../../api/thrown-attempts.ts'
import { type ReadValues, STORED_VALUES, type Values } from '../../api/values.ts'

/** The public view of a run record. */
export function viewRun(record: RunRecord, values: ReadValues): Run {
  const { status, createdAt, updatedAt, startedAt, finishedAt } = record
  return {
    id: record.id,
    taskIdentifier: record.taskId,
    status,
    payload: values.decode(fromJson(record.payloadJson)),
    ...(status === 'COMPLETED' ? { output: values.decode(fromJson(record.outputJson)) } : {}),
    ...(record.errorJson === undefined ? {} : { error: storedError(record.errorJson) }),
    tags: [...record.tags],
    metadata: readMetadata(record),
    realtimeStreams: [...record.streams],
    attemptCount: record.attempt,
    queue: record.queue,
    ...(record.concurrencyKey === undefined ? {} : { concurrencyKey: record.concurrencyKey }),
    ...(record.priorityMs === undefined ? {} : { priority: record.priorityMs / 1_000 }),
    ...keyOf(record),
    ...madeAtTrigger(record),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    ...(startedAt === undefined ? {} : { startedAt: new Date(startedAt) }),
    ...(finishedAt === undefined ? {} : { finishedAt: new Date(finishedAt) }),
    ...(record.wakeAt === undefined ? {} : { delayedUntil: new Date(record.wakeAt) }),
    ...(status === 'EXPIRED' && finishedAt !== undefined ? { expiredAt: new Date(finishedAt) } : {}),
    durationMs: startedAt === undefined ? 0 : (finishedAt ?? updatedAt) - startedAt,
    ...statusFlags(status),
    ...(record.parentId === undefined ? {} : { parentId: record.parentId }),
    rootId: record.rootId,
  }
}

/** The characters of all that may be large in a run. */
export function sizeOfRun({
  payloadJson = '',
  outputJson = '',
  metadataJson = '',
  errorJson = '',
  attemptsJson = '',
}: RunRecord): number {
  return payloadJson.length + outputJson.length + metadataJson.length + errorJson.length + attemptsJson.length
}

/** Weak on both sides: the view of a record that is kept for long is not, once no reader has it. */
const sharedViews = new WeakMap<RunRecord, WeakRef<Run>>()

/** The view of a record, with its values as they are stored, as one object for many readers, none of which may change it: its payload is parsed once. */
export function sharedViewOf(record: RunRecord): Run {
  const known = sharedViews.get(record)?.deref()
  if (known !== undefined) return known
  const view = viewRun(record, STORED_VALUES)
  sharedViews.set(record, new WeakRef(view))
  return view
}

/** What a run that has not ended waits for, and the engine that holds it. */
export interface RunSurroundings {
  readonly waits: readonly TokenRecord[]
  readonly owner: RunOwner | undefined
}

/** The view of a run with the engine that holds it, what it waits for and what its attempts have thrown. */
export function viewRetrievedRun(
  record: RunRecord,
  { waits = [], owner }: Partial<RunSurroundings> = {},
  values: Values = STORED_VALUES,
): RetrievedRun {
  // Not spread: a copy of so many members costs as much as making them.
  return Object.assign(viewRun(record, values), owner && { owner }, {
    waitingOn: waits.map(viewWait),
    attempts: storedAttempts(record.attemptsJson).map(viewAttempt),
  })
}

function viewAttempt({ number, startedAt, endedAt, waitedMs = 0, error }: StoredAttempt): RunAttempt {
  const executingMs = endedAt - startedAt - waitedMs
  const instants = { startedAt: new Date(startedAt), endedAt: new Date(endedAt) }
  return { number, ...instants, executingMs, waitingMs: waitedMs, error }
}

function viewWait({ id, kind, timeoutAt }: TokenRecord): WaitingOn {
  return { id, kind, ...(timeoutAt === undefined ? {} : { timeoutAt: new Date(timeoutAt) }) }
}

/** The metadata of a run, as an object. */
function readMetadata(record: RunRecord): Record<string, unknown> {
  // Only objects are stored as metadata.
  return (fromJson(record.metadataJson) ?? {}) as Record<string, unknown>
}

/** The metadata of a run, by key. */
export function metadataOf(record: RunRecord): Map<string, unknown> {
  return valuesByKey(readMetadata(record))
}

/** The key of a run that a user gave. */
export function keyOf(record: RunRecord): Pick<Run, 'idempotencyKey' | 'debounceKey'> {
  const { key } = record
  if (key === undefined) return {}
  if (isUserKey(key.scope)) return { idempotencyKey: key.value }
  const debounceKey = debounceKeyOf(record)
  return debounceKey === undefined ? {} : { debounceKey }
}

function madeAtTrigger({ optionsJson }: RunRecord): Pick<Run, 'batchId' | 'title'> {
  if (optionsJson === undefined) return {}
  // Only newRun and replays write these.
  const { batchId, title = '' } = fromJson(optionsJson) as RunOverrides
  return { ...(batchId === undefined ? {} : { batchId }), ...(title === '' ? {} : { title }) }
}

/** The error of a run that ended without an output. */
export function runFailure(record: RunRecord): RunFailedError {
  const { id, taskId, status, errorJson } = record
  const cause = errorJson === undefined ? undefined : errorFromJson(errorJson)
  const failure = failureOf({ id, taskId, status }, cause)
  failure.stack = stackOfTask(failure)
  return failure
}
