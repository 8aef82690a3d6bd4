import type { KeyRecord, RunRecord, TokenRecord } from '../../contract/records.ts'
import type { StoredError } from '../../api/errors.ts'
import { defined } from '../../primitives/defined.ts'
import { endOf, type RunEnd } from './run-end.ts'
import type { HistoryChild, HistoryKey, HistoryToken, RunHistory } from './shape.ts'

/** The records that a history stands for. */
export interface RecordedRun {
  /** As it was when its first attempt of the policy was called for the last time. */
  readonly record: RunRecord
  readonly tokens: readonly TokenRecord[]
  readonly children: readonly RunRecord[]
  /** The attempts of the policy that have thrown, by their number, from 1. */
  readonly thrown: ReadonlyMap<number, RecordedFailure>
  /** Why the results of effects could not be stored, by the id of their token. */
  readonly notStored: ReadonlyMap<string, string>
  /** The end of the run, or where it stood when the storage was read. */
  readonly end: RunEnd
  /** When that was. */
  readonly until: number
}

export interface RecordedFailure {
  readonly startedAt: number
  readonly endedAt: number
  readonly error: StoredError
}

export function recordedRun(history: RunHistory): RecordedRun {
  const { run, tokens, children, readAt } = history
  const { id, taskId, policyAttempt, attempts, rootId, parentId } = run
  const startedAt = Date.parse(run.startedAt)
  // Of more attempts than a storage keeps, the first ones are not known.
  const first = policyAttempt - attempts.length + (hasThrownLast(history) ? 1 : 0)
  const thrown = attempts.map(({ startedAt, endedAt, error }, at) => {
    const attempt = { startedAt: Date.parse(startedAt), endedAt: Date.parse(endedAt), error }
    return [first + at, attempt] as const
  })
  // Calls that the policy does not count were interrupted: the call that is repeated is the last one of its attempt.
  const calls = first === 1 ? attempts[0]?.number : undefined
  return {
    record: {
      id,
      taskId,
      status: 'QUEUED',
      ...texts({ payloadJson: run.payload, metadataJson: run.metadata, optionsJson: run.options }),
      attempt: (calls ?? run.attempt - policyAttempt + 1) - 1,
      policyAttempt: 0,
      interruptions: 0,
      epoch: 0,
      slot: false,
      returned: false,
      parentId,
      rootId,
      tags: run.tags,
      streams: [],
      queue: QUEUE,
      createdAt: Date.parse(run.createdAt),
      updatedAt: startedAt,
      startedAt,
    },
    tokens: tokens.map(tokenRecord),
    children: children.map((child) => childRecord(child, run)),
    thrown: new Map(thrown),
    notStored: new Map(
      tokens.flatMap(({ id, notStored }) => (notStored === undefined ? [] : [[id, notStored]])),
    ),
    end: historyEnd(history),
    until: Date.parse(run.finishedAt ?? readAt),
  }
}

/** Whether the last attempt is among those that have thrown: the run has failed, or waits for the next one. */
function hasThrownLast({ run: { status, attempt, attempts } }: RunHistory): boolean {
  return status === 'FAILED' || attempts.at(-1)?.number === attempt
}

/** The end that a history tells of. */
export function historyEnd({ run, tokens }: RunHistory): RunEnd {
  const { status, output, error, waitsFor = [] } = run
  const waits = tokens.filter(({ id }) => waitsFor.includes(id)).map(tokenRecord)
  return endOf({ status, ...texts({ outputJson: output, errorJson: error }) }, waits)
}

/** One of its own: the limits of the task's queue are of no interest. */
const QUEUE = 'the history of a run'

function tokenRecord(token: HistoryToken): TokenRecord {
  const { id, kind, status, output, tags, key, runId, createdAt, timeoutAt, completedAt } = token
  return {
    id,
    kind,
    status,
    ...texts({ outputJson: output }),
    timeoutAt: maybeInstant(timeoutAt),
    tags,
    key: keyRecord(key),
    runId,
    createdAt: Date.parse(createdAt),
    completedAt: maybeInstant(completedAt),
  }
}

function childRecord(child: HistoryChild, parent: RunHistory['run']): RunRecord {
  const { id, taskId, status, payload, output, error, tags, key, createdAt, finishedAt } = child
  return {
    id,
    taskId,
    status,
    ...texts({ payloadJson: payload, outputJson: output, errorJson: error }),
    attempt: 1,
    policyAttempt: 1,
    interruptions: 0,
    epoch: 0,
    slot: false,
    returned: false,
    parentId: parent.id,
    rootId: parent.rootId,
    tags,
    streams: [],
    queue: QUEUE,
    key: keyRecord(key),
    createdAt: Date.parse(createdAt),
    updatedAt: Date.parse(finishedAt ?? createdAt),
    finishedAt: maybeInstant(finishedAt),
  }
}

function keyRecord(key: HistoryKey | undefined): KeyRecord | undefined {
  return key && { scope: key.scope, value: key.value }
}

/** The JSON texts of the values that are there. */
function texts<Name extends string>(values: {
  readonly [_ in Name]: unknown
}): { readonly [_ in Name]?: string } {
  const entries = Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)])
  // The names are those of the values, and what is undefined has no text.
  return defined(Object.fromEntries(entries) as { readonly [_ in Name]?: string })
}

function maybeInstant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}
