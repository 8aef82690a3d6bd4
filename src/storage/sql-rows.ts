import type {
  KeyRecord,
  RunRecord,
  RunStatus,
  TokenKind,
  TokenRecord,
  TokenStatus,
} from '../contract/records.ts'

/** A row as a SQL driver answers it: numbers, strings and null. */
export type Row = Readonly<Record<string, string | number | null>>

const NO_TEXTS: readonly string[] = []

/** The run of a row of `runs`. */
export function runOfRow(row: Row): RunRecord {
  return {
    id: row['id'] as string,
    taskId: row['task_id'] as string,
    // What we wrote is what we read, here and below.
    status: row['status'] as RunStatus,
    payloadJson: text(row['payload']),
    outputJson: text(row['output']),
    errorJson: text(row['error']),
    attempt: row['attempt'] as number,
    policyAttempt: row['policy_attempt'] as number,
    interruptions: row['interruptions'] as number,
    owner: text(row['owner']),
    epoch: row['epoch'] as number,
    slot: row['slot'] === 1,
    slotUntil: instant(row['slot_until']),
    returned: row['returned'] === 1,
    wakeAt: instant(row['wake_at']),
    expiresAt: instant(row['expires_at']),
    parentId: text(row['parent_id']),
    rootId: row['root_id'] as string,
    tags: texts(row['tags']),
    metadataJson: text(row['metadata']),
    streams: texts(row['streams']),
    queue: row['queue'] as string,
    concurrencyKey: text(row['concurrency_key']),
    optionsJson: text(row['options']),
    key: keyOfRow(row),
    createdAt: row['created_at'] as number,
    updatedAt: row['updated_at'] as number,
    startedAt: instant(row['started_at']),
    finishedAt: instant(row['finished_at']),
  }
}

/** The token of a row of `tokens`. */
export function tokenOfRow(row: Row): TokenRecord {
  return {
    id: row['id'] as string,
    kind: row['kind'] as TokenKind,
    status: row['status'] as TokenStatus,
    outputJson: text(row['output']),
    timeoutAt: instant(row['timeout_at']),
    tags: texts(row['tags']),
    key: keyOfRow(row),
    runId: text(row['run_id']),
    createdAt: row['created_at'] as number,
    completedAt: instant(row['completed_at']),
  }
}

/** The columns of a run from `id` to `finished_at`, in the order of the table. */
export function runColumns(record: RunRecord): readonly Row[string][] {
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
  ]
}

/** A field as a column. */
export function orNull<Value extends string | number>(value: Value | undefined): Value | null {
  return value ?? null
}

/** A list of texts as a column; NULL when there is none. */
export function textsColumn(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values)
}

function keyOfRow(row: Row): KeyRecord | undefined {
  const scope = row['key_scope']
  if (typeof scope !== 'string') return undefined
  return { scope, value: row['key_value'] as string, expiresAt: instant(row['key_expires_at']) }
}

function text(value: Row[string] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function instant(value: Row[string] | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function texts(value: Row[string] | undefined): readonly string[] {
  return typeof value === 'string' ? (JSON.parse(value) as readonly string[]) : NO_TEXTS
}
