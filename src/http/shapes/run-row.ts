import type { RunRecord } from '../../contract/records.ts'
import type { Caller } from '../access/caller.ts'
import { sizeOfRun } from '../../core/inside.ts'
import { isUserKey } from '../../contract/key-scopes.ts'
import { storedPacketText } from '../requests/packet-text.ts'
import { storedError } from '../../api/serialize.ts'
import { ERROR_TYPE, OF_THE_SERVICE } from '../../hosted/run.ts'
import { ROW_NAMES } from '../../hosted/statuses.ts'
import { sha256 } from '../../primitives/digest.ts'

/**
 * A column of a run in the shape protocol: plain JSON, dates in ISO format without a zone, text with a separate type.
 */
type Column = string | number | boolean | readonly string[] | object | null

/** The columns that every subscriber needs. */
const REQUIRED: ReadonlySet<string> = new Set([
  'id',
  'taskIdentifier',
  'friendlyId',
  'status',
  'createdAt',
  'updatedAt',
])

/** A run as rows of the shape protocol show it, with its version. */
export class RunRow {
  readonly id: string
  /** The instant of the last change. */
  readonly updatedAt: number
  /** The characters of all that may be large in it. */
  readonly size: number
  readonly #columns: Readonly<Record<string, Column>>
  #version: number | undefined

  constructor(record: RunRecord) {
    this.id = record.id
    this.updatedAt = record.updatedAt
    this.size = sizeOfRun(record)
    this.#columns = { ...identity(record), ...instants(record), ...texts(record), ...extras(record) }
  }

  /**
   * A number computed from every column that can change, so that two changes within one millisecond give two versions.
   */
  get version(): number {
    // Computed for every row after every change for every subscriber. The payload is left out: it may be large, and
    // never changes.
    const { payload: _payload, ...changing } = this.#columns
    return (this.#version ??= Number.parseInt(sha256(JSON.stringify(changing), 'hex').slice(0, 12), 16))
  }

  /**
   * The columns, except those that the subscriber skips, or must not see, and that are not required. Stacks name the files of
   * the server: they are for secret keys.
   */
  columns(skipped: ReadonlySet<string>, caller?: Caller): Readonly<Record<string, Column>> {
    const isWanted = ([name]: [string, Column]): boolean =>
      REQUIRED.has(name) || !(skipped.has(name) || caller?.skipColumns.has(name) === true)
    const columns = Object.fromEntries(Object.entries(this.#columns).filter(isWanted))
    const { error } = columns
    if (caller?.hasSecretKey === true || error === null || error === undefined) return columns
    return { ...columns, error: { ...(error as object), stackTrace: '' } }
  }
}

type Columns = Readonly<Record<string, Column>>

function identity(record: RunRecord): Columns {
  const { id, taskId, status, tags, streams, key } = record
  return {
    id,
    friendlyId: id,
    taskIdentifier: taskId,
    status: ROW_NAMES[status] ?? status,
    idempotencyKey: key === undefined || !isUserKey(key.scope) ? null : key.value,
    runTags: tags,
    realtimeStreams: streams,
  }
}

function instants(record: RunRecord): Columns {
  const { status, createdAt, updatedAt, startedAt, finishedAt, wakeAt } = record
  return {
    createdAt: instant(createdAt),
    updatedAt: instant(updatedAt),
    queuedAt: status === 'DELAYED' ? null : instant(createdAt),
    startedAt: instant(startedAt),
    delayUntil: instant(wakeAt),
    expiredAt: status === 'EXPIRED' ? instant(finishedAt) : null,
    completedAt: instant(finishedAt),
    usageDurationMs: startedAt === undefined ? 0 : (finishedAt ?? updatedAt) - startedAt,
  }
}

function texts({ status, payloadJson, outputJson, metadataJson, errorJson }: RunRecord): Columns {
  const payload = storedPacketText(payloadJson)
  const output = storedPacketText(status === 'COMPLETED' ? outputJson : undefined)
  return {
    payload: payload.text ?? null,
    payloadType: payload.type,
    output: output.text ?? null,
    outputType: output.type,
    metadata: metadataJson ?? null,
    metadataType: 'application/json',
    error: errorJson === undefined ? null : errorOf(errorJson),
  }
}

/** Columns of the service without a counterpart in this engine. */
function extras({ attempt }: RunRecord): Columns {
  return { number: 0, attemptNumber: attempt, ...OF_THE_SERVICE, ttl: null }
}

function errorOf(json: string): object {
  const { name, message, stack = '' } = storedError(json)
  return { type: ERROR_TYPE, name, message, stackTrace: stack }
}

/** The client adds the zone. */
function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString().slice(0, -1)
}
