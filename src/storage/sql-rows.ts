import type {
  KeyRecord,
  RunRecord,
  RunStatus,
  TokenKind,
  TokenRecord,
  TokenStatus,
} from '../contract/records.ts'
import { sha256 } from '../primitives/digest.ts'

/** A row as a SQL driver answers it: numbers, strings and null. */
export type Row = Readonly<Record<string, Value>>

export type Value = string | number | null

/**
 * The columns that make a run; to ask for these only is a quarter cheaper than for all. A new one comes last, so that
 * processes of the version before read on while a database is brought up to date.
 */
export const RUN_COLUMNS: string =
  'id, task_id, status, payload, output, error, attempt, policy_attempt, interruptions, owner, epoch, slot, slot_until, ' +
  'returned, wake_at, expires_at, parent_id, root_id, tags, metadata, streams, queue, concurrency_key, options, ' +
  'key_scope, key_value, key_expires_at, created_at, updated_at, started_at, finished_at, version, ' +
  'attempts_json, priority_ms'

/** The place in line of a run that goes on. */
export const OLDEST_FIRST = 'created_at - coalesce(priority_ms, 0)'

const NO_TEXTS: readonly string[] = []

/** The run of a row of `RUN_COLUMNS`, in their order. */
export function runOfValues(values: readonly Value[]): RunRecord {
  return {
    id: values[0] as string,
    taskId: values[1] as string,
    // Casts here and below: only the storage writes these columns, and only with values of these types.
    status: values[2] as RunStatus,
    payloadJson: text(values[3]),
    outputJson: text(values[4]),
    errorJson: text(values[5]),
    attempt: values[6] as number,
    policyAttempt: values[7] as number,
    interruptions: values[8] as number,
    owner: text(values[9]),
    epoch: values[10] as number,
    slot: values[11] === 1,
    slotUntil: number(values[12]),
    returned: values[13] === 1,
    wakeAt: number(values[14]),
    expiresAt: number(values[15]),
    parentId: text(values[16]),
    rootId: values[17] as string,
    tags: textsOf(values[18]),
    metadataJson: text(values[19]),
    streams: textsOf(values[20]),
    queue: values[21] as string,
    concurrencyKey: text(values[22]),
    optionsJson: text(values[23]),
    key: keyOf(values[24], values[25], values[26]),
    createdAt: values[27] as number,
    updatedAt: values[28] as number,
    startedAt: number(values[29]),
    finishedAt: number(values[30]),
    version: text(values[31]),
    attemptsJson: text(values[32]),
    priorityMs: number(values[33]),
  }
}

/** The token of a row of `tokens`. */
export function tokenOfRow(row: Row): TokenRecord {
  return {
    id: row['id'] as string,
    kind: row['kind'] as TokenKind,
    status: row['status'] as TokenStatus,
    outputJson: text(row['output']),
    timeoutAt: number(row['timeout_at']),
    tags: textsOf(row['tags']),
    key: keyOf(row['key_scope'], row['key_value'], row['key_expires_at']),
    runId: text(row['run_id']),
    createdAt: row['created_at'] as number,
    completedAt: number(row['completed_at']),
  }
}

/** The values of `RUN_COLUMNS`. */
export function runValues(record: RunRecord): readonly Value[] {
  const { key } = record
  return [
    record.id,
    record.taskId,
    record.status,
    orNull(record.payloadJson),
    orNull(record.outputJson),
    orNull(record.errorJson),
    record.attempt,
    record.policyAttempt,
    record.interruptions,
    orNull(record.owner),
    record.epoch,
    Number(record.slot),
    orNull(record.slotUntil),
    Number(record.returned),
    orNull(record.wakeAt),
    orNull(record.expiresAt),
    orNull(record.parentId),
    record.rootId,
    textsColumn(record.tags),
    orNull(record.metadataJson),
    textsColumn(record.streams),
    record.queue,
    orNull(record.concurrencyKey),
    orNull(record.optionsJson),
    orNull(key?.scope),
    orNull(key?.value),
    orNull(key?.expiresAt),
    record.createdAt,
    record.updatedAt,
    orNull(record.startedAt),
    orNull(record.finishedAt),
    orNull(record.version),
    orNull(record.attemptsJson),
    orNull(record.priorityMs),
  ]
}

/** An entry of an index in Postgres has at most 2,704 bytes, and a character up to three. */
const LONGEST_LANE = 800

/** The scope in which a limit of a queue counts: the queue, or one concurrency key of it. A long one is told apart by its digest. */
export function laneOf({ queue, concurrencyKey }: Pick<RunRecord, 'queue' | 'concurrencyKey'>): string {
  const lane = JSON.stringify(concurrencyKey === undefined ? [queue] : [queue, concurrencyKey])
  if (lane.length > LONGEST_LANE) return `[${sha256(lane, 'hex')}]`
  // A name that looks like a list must not be the lane of another queue.
  return concurrencyKey === undefined && !queue.startsWith('[') ? queue : lane
}

/** A field as a column. */
export function orNull<Value extends string | number>(value: Value | undefined): Value | null {
  return value ?? null
}

/** A list of texts as a column; NULL when there is none. */
export function textsColumn(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values)
}

/** A list of texts that a column has; see {@link textsColumn}. */
export function textsOf(value: Value | undefined): readonly string[] {
  return typeof value === 'string' ? (JSON.parse(value) as readonly string[]) : NO_TEXTS
}

function keyOf(
  scope: Value | undefined,
  value: Value | undefined,
  expiresAt: Value | undefined,
): KeyRecord | undefined {
  if (typeof scope !== 'string') return undefined
  return { scope, value: value as string, expiresAt: number(expiresAt) }
}

function text(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function number(value: Value | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Separates the chunks of a row: JSON on one line has no line break. */
export const BREAK = '\n'

/** The JSON text of a chunk on one line. */
export function onOneLine(text: string): string {
  return text.includes(BREAK) ? JSON.stringify(JSON.parse(text)) : text
}

/** Texts as a list in SQL. They are names of the contract, in which there is nothing to escape. */
export function textList(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ')
}
