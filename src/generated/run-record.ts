// Written by `npm run records` from src/contract, and not to be edited.
import { someTextsColumn, someTextsOf, numberOf, orNull, textOf, textsColumn, textsOf, type Value } from '../contract/columns.ts'
import type { RunRecord } from '../contract/records.ts'
import { keyIn } from './parts.ts'

/** A record that no other code has seen yet. */
export type RunDraft = { -readonly [Field in keyof RunRecord]: RunRecord[Field] }

/** The columns that make a run; to ask for these only is a quarter cheaper than for all. */
export const RUN_COLUMNS =
  'id, task_id, status, payload, output, error, attempt, policy_attempt, interruptions, owner, epoch, slot, slot_until, returned, wake_at, expires_at, parent_id, root_id, tags, metadata, streams, queue, concurrency_key, options, key_scope, key_value, key_expires_at, created_at, updated_at, started_at, finished_at, version, attempts_json, priority_ms, parks, limits'

/** The run of a row of `RUN_COLUMNS`, in their order. */
export function runOfValues(values: readonly Value[]): RunRecord {
  return {
    id: values[0] as RunRecord['id'], taskId: values[1] as RunRecord['taskId'],
    status: values[2] as RunRecord['status'], payloadJson: textOf(values[3]), outputJson: textOf(values[4]),
    errorJson: textOf(values[5]), attempt: values[6] as RunRecord['attempt'],
    policyAttempt: values[7] as RunRecord['policyAttempt'], interruptions: values[8] as RunRecord['interruptions'],
    owner: textOf(values[9]), epoch: values[10] as RunRecord['epoch'], slot: values[11] === 1,
    slotUntil: numberOf(values[12]), returned: values[13] === 1, wakeAt: numberOf(values[14]),
    expiresAt: numberOf(values[15]), parentId: textOf(values[16]), rootId: values[17] as RunRecord['rootId'],
    tags: textsOf(values[18]), metadataJson: textOf(values[19]), streams: textsOf(values[20]),
    queue: values[21] as RunRecord['queue'], concurrencyKey: textOf(values[22]), optionsJson: textOf(values[23]),
    key: keyIn(values[24], values[25], values[26]), createdAt: values[27] as RunRecord['createdAt'],
    updatedAt: values[28] as RunRecord['updatedAt'], startedAt: numberOf(values[29]),
    finishedAt: numberOf(values[30]), version: textOf(values[31]), attemptsJson: textOf(values[32]),
    priorityMs: numberOf(values[33]), parks: numberOf(values[34]), limits: someTextsOf(values[35]),
  }
}

/** The values of `RUN_COLUMNS`. */
export function runValues(record: RunRecord): readonly Value[] {
  return [
    record.id, record.taskId, record.status, orNull(record.payloadJson), orNull(record.outputJson),
    orNull(record.errorJson), record.attempt, record.policyAttempt, record.interruptions, orNull(record.owner),
    record.epoch, Number(record.slot), orNull(record.slotUntil), Number(record.returned), orNull(record.wakeAt),
    orNull(record.expiresAt), orNull(record.parentId), record.rootId, textsColumn(record.tags),
    orNull(record.metadataJson), textsColumn(record.streams), record.queue, orNull(record.concurrencyKey),
    orNull(record.optionsJson), orNull(record.key?.scope), orNull(record.key?.value), orNull(record.key?.expiresAt),
    record.createdAt, record.updatedAt, orNull(record.startedAt), orNull(record.finishedAt), orNull(record.version),
    orNull(record.attemptsJson), orNull(record.priorityMs), orNull(record.parks), someTextsColumn(record.limits),
  ]
}

/** The columns of the fields that have one each, and are no lists. */
export const RUN_COLUMN_OF: Readonly<Record<string, string>> = {
  id: 'id', taskId: 'task_id', status: 'status', payloadJson: 'payload', outputJson: 'output', errorJson: 'error',
  attempt: 'attempt', policyAttempt: 'policy_attempt', interruptions: 'interruptions', owner: 'owner',
  epoch: 'epoch', slot: 'slot', slotUntil: 'slot_until', returned: 'returned', wakeAt: 'wake_at',
  expiresAt: 'expires_at', parentId: 'parent_id', rootId: 'root_id', metadataJson: 'metadata', queue: 'queue',
  concurrencyKey: 'concurrency_key', optionsJson: 'options', createdAt: 'created_at', updatedAt: 'updated_at',
  startedAt: 'started_at', finishedAt: 'finished_at', version: 'version', attemptsJson: 'attempts_json',
  priorityMs: 'priority_ms', parks: 'parks',
}

/** The fields that decide the place of a run in line and its holder. */
export const RUN_PLACING = ['status', 'owner', 'slot', 'slotUntil', 'returned', 'wakeAt', 'expiresAt'] as const
export const RUN_PLACE = `
  status = ?, owner = ?, slot = ?, slot_until = ?, returned = ?, wake_at = ?, expires_at = ?`

/** The values of `RUN_PLACE`. */
export function runPlaceValues(record: RunRecord): readonly Value[] {
  return [
    record.status, orNull(record.owner), Number(record.slot), orNull(record.slotUntil), Number(record.returned),
    orNull(record.wakeAt), orNull(record.expiresAt),
  ]
}

/** The other columns that change. */
export const RUN_CONTENT = `
  output = ?, error = ?, attempt = ?, policy_attempt = ?, interruptions = ?, epoch = ?, tags = ?, metadata = ?,
  streams = ?, updated_at = ?, started_at = ?, finished_at = ?, version = ?, attempts_json = ?, parks = ?`

/** The values of `RUN_CONTENT`. */
export function runContentValues(record: RunRecord): readonly Value[] {
  return [
    orNull(record.outputJson), orNull(record.errorJson), record.attempt, record.policyAttempt, record.interruptions,
    record.epoch, textsColumn(record.tags), orNull(record.metadataJson), textsColumn(record.streams),
    record.updatedAt, orNull(record.startedAt), orNull(record.finishedAt), orNull(record.version),
    orNull(record.attemptsJson), orNull(record.parks),
  ]
}

/** All columns that change, in a function that has the row `r`. */
export const RUN_FROM_ROW = `
    status = r.status, output = r.output, error = r.error, attempt = r.attempt, policy_attempt = r.policy_attempt,
    interruptions = r.interruptions, owner = r.owner, epoch = r.epoch, slot = r.slot, slot_until = r.slot_until,
    returned = r.returned, wake_at = r.wake_at, expires_at = r.expires_at, tags = r.tags, tag_list = r.tag_list,
    metadata = r.metadata, streams = r.streams, updated_at = r.updated_at, started_at = r.started_at,
    finished_at = r.finished_at, version = r.version, attempts_json = r.attempts_json, parks = r.parks`

export const SQLITE_RUN_TABLE = `
  task_id TEXT NOT NULL, status TEXT NOT NULL, payload TEXT, output TEXT, error TEXT, attempt INTEGER NOT NULL,
  policy_attempt INTEGER NOT NULL, interruptions INTEGER NOT NULL, owner TEXT, epoch INTEGER NOT NULL,
  slot INTEGER NOT NULL, slot_until NUMERIC, returned INTEGER NOT NULL, wake_at NUMERIC, expires_at NUMERIC,
  parent_id TEXT, root_id TEXT NOT NULL, tags TEXT, metadata TEXT, streams TEXT, queue TEXT NOT NULL,
  concurrency_key TEXT, options TEXT, key_scope TEXT, key_value TEXT, key_expires_at NUMERIC,
  created_at NUMERIC NOT NULL, updated_at NUMERIC NOT NULL, started_at NUMERIC, finished_at NUMERIC`
export const SQLITE_RUN_TABLE_ADDED = `
  version TEXT, attempts_json TEXT, priority_ms NUMERIC, parks INTEGER, limits TEXT`
export const POSTGRES_RUN_TABLE = `
  task_id text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL, payload text, output text, error text,
  attempt int NOT NULL, policy_attempt int NOT NULL, interruptions int NOT NULL, owner text COLLATE "C",
  epoch int NOT NULL, slot int NOT NULL, slot_until float8, returned int NOT NULL, wake_at float8, expires_at float8,
  parent_id text COLLATE "C", root_id text COLLATE "C" NOT NULL, tags text, tag_list text[] COLLATE "C",
  metadata text, streams text, queue text COLLATE "C" NOT NULL, concurrency_key text COLLATE "C", options text,
  key_scope text COLLATE "C", key_value text COLLATE "C", key_expires_at float8, created_at float8 NOT NULL,
  updated_at float8 NOT NULL, started_at float8, finished_at float8`
export const POSTGRES_RUN_TABLE_ADDED = `
  version text COLLATE "C", attempts_json text, priority_ms float8, parks int, limits text`

/** Whether a run has nothing that only some runs have, and runs that are over. */
export function isPlainRun(record: RunRecord): boolean {
  const some =
    record.outputJson ?? record.errorJson ?? record.slotUntil ?? record.wakeAt ?? record.expiresAt ?? record.parentId ??
    record.metadataJson ?? record.concurrencyKey ?? record.optionsJson ?? record.key ?? record.finishedAt ??
    record.attemptsJson ?? record.priorityMs ?? record.limits
  return some === undefined
}

/** A copy of a plain run, no older than `now`. */
export function plainRunDraft(record: RunRecord, now: number): RunDraft {
  return {
    id: record.id, taskId: record.taskId, status: record.status, payloadJson: record.payloadJson,
    attempt: record.attempt, policyAttempt: record.policyAttempt, interruptions: record.interruptions,
    owner: record.owner, epoch: record.epoch, slot: record.slot, returned: record.returned, rootId: record.rootId,
    tags: record.tags, streams: record.streams, queue: record.queue, createdAt: record.createdAt,
    updatedAt: Math.max(record.updatedAt, now), startedAt: record.startedAt, version: record.version,
    parks: record.parks,
  }
}

/** A copy of a run, no older than `now`. */
export function fullRunDraft(record: RunRecord, now: number): RunDraft {
  return {
    id: record.id, taskId: record.taskId, status: record.status, payloadJson: record.payloadJson,
    outputJson: record.outputJson, errorJson: record.errorJson, attempt: record.attempt,
    policyAttempt: record.policyAttempt, interruptions: record.interruptions, owner: record.owner,
    epoch: record.epoch, slot: record.slot, slotUntil: record.slotUntil, returned: record.returned,
    wakeAt: record.wakeAt, expiresAt: record.expiresAt, parentId: record.parentId, rootId: record.rootId,
    tags: record.tags, metadataJson: record.metadataJson, streams: record.streams, queue: record.queue,
    concurrencyKey: record.concurrencyKey, optionsJson: record.optionsJson, key: record.key,
    createdAt: record.createdAt, updatedAt: Math.max(record.updatedAt, now), startedAt: record.startedAt,
    finishedAt: record.finishedAt, version: record.version, attemptsJson: record.attemptsJson,
    priorityMs: record.priorityMs, parks: record.parks, limits: record.limits,
  }
}
