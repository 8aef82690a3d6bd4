import type { RunOverrides } from '../../api/task-definition.ts'
import type { KeyRecord, RunRecord } from '../../contract/records.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { LAST_INSTANT, parseInstant, parseDuration, parseSeconds } from '../../primitives/duration.ts'
import {
  requireFlag,
  requireName,
  requireObject,
  requireOptions,
  requireWhole,
  show,
} from '../../primitives/require.ts'
import { RUN_TRIGGER } from '../diagnostics.ts'
import { readOverrides } from '../host/overrides.ts'
import type { Kernel } from '../kernel.ts'
import { announced } from './announced.ts'
import { readDebounce } from './debounce.ts'
import type { TriggerOptions } from '../../api/run.ts'
import { MOST_PRIORITY_S, TRIGGER_OPTION_NAMES } from '../../api/trigger-options.ts'
import { marksOf } from '../../api/trigger-marks.ts'
import { toJson } from '../../api/serialize.ts'
import { payloadOf } from '../../api/values.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'
import type { IdempotencyOptions } from '../../api/token.ts'

const DEFAULT_KEY_TTL_MS = 3_600_000
const LONGEST_KEY = 2_048
export const MOST_TAGS = 10
/** One for all: most runs and tokens have no tags and no streams. */
const NONE: readonly string[] = []
export const LONGEST_TAG = 128
const LONGEST_TITLE = 200

/** The run that triggers, and the key that its place gives a child. */
export interface NewRunContext {
  readonly parent?: RunRecord | undefined
  /** The implicit key of a child run. */
  readonly key?: KeyRecord | undefined
}

/** What is asked of a new run. `read`: its payload as the task reads it, if that is known already. */
export interface NewRunRequest {
  readonly payload: unknown
  readonly read?: unknown
  readonly options: TriggerOptions
  readonly context: NewRunContext
}

type Ports = Pick<Kernel, 'host' | 'events' | 'values'>

/**
 * The record of a run that does not exist yet. Everything is checked here, before anything is stored.
 *
 * @throws WaitpointError `ERR_NOT_SERIALIZABLE`; RangeError for durations, tags and limits.
 */
export function newRun(kernel: Ports, definition: TaskDefinition, request: NewRunRequest): RunRecord {
  const { payload, options, context } = request
  const { host } = kernel
  requireOptions(options, 'the options of trigger', TRIGGER_OPTION_NAMES)
  const now = host.now()
  const { id, createdAt } = host.made('run', now)
  const debounce = readDebounce(definition.id, options, now)
  const wakeAt = startOf(options, debounce?.wakeAt, now)
  const ttlMs = options.ttl === undefined ? definition.ttlMs : parseSeconds(options.ttl, 'ttl')
  const payloadJson = toJson(payload, 'the payload of task', definition.id)
  const title = definition.options.title && titleOf(kernel, definition, { ...request, payloadJson })
  const record: RunRecord = {
    id,
    taskId: definition.id,
    status: wakeAt === undefined ? 'QUEUED' : 'DELAYED',
    payloadJson,
    attempt: 0,
    policyAttempt: 0,
    interruptions: 0,
    epoch: 0,
    slot: false,
    returned: false,
    wakeAt,
    expiresAt: ttlMs === undefined ? undefined : (wakeAt ?? now) + ttlMs,
    parentId: context.parent?.id,
    rootId: context.parent?.rootId ?? id,
    tags: readTags(options.tags),
    metadataJson: readMetadataOption(options.metadata),
    streams: NONE,
    queue: readQueue(options.queue) ?? definition.queue,
    concurrencyKey: readConcurrencyKey(options.concurrencyKey),
    priorityMs: readPriority(options.priority),
    limits: definition.limitNames,
    optionsJson: withTitle(overridesJson(options, context.parent, id), title),
    key: debounce?.key ?? userKey(options, keyScope(definition.id), now) ?? context.key,
    createdAt,
    updatedAt: createdAt,
  }
  return RUN_TRIGGER.hasSubscribers ? announced(record, host) : record
}

/**
 * When a run is to start, if not at once.
 *
 * @throws TypeError or RangeError for a delay that cannot be used.
 */
function startOf(
  { delay }: TriggerOptions,
  debouncedAt: number | undefined,
  now: number,
): number | undefined {
  if (delay === undefined) return debouncedAt
  const startAt = parseInstant(delay, { now, name: 'delay' })
  if (startAt > now) return startAt
  if (debouncedAt === undefined) return undefined
  throw new RangeError(`Cannot use delay ${show(delay)} with debounce: it must be ahead`)
}

/** The record of an idempotency key a user gave, or nothing. */
export function userKey(options: IdempotencyOptions, scope: string, now: number): KeyRecord | undefined {
  const { idempotencyKey: value, idempotencyKeyTTL: ttl } = options
  const ttlMs = ttl === undefined ? DEFAULT_KEY_TTL_MS : parseDuration(ttl, 'idempotencyKeyTTL')
  if (value === undefined) return undefined
  requireKey(value)
  if (now + ttlMs > LAST_INSTANT)
    throw new RangeError(`Cannot use idempotencyKeyTTL ${JSON.stringify(ttl)}: no date is that far ahead`)
  return { scope, value, expiresAt: now + ttlMs }
}

/** @throws RangeError for an idempotency key that cannot be used. */
export function requireKey(value: unknown): void {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_KEY) return
  throw new RangeError(
    `Cannot use idempotencyKey ${show(value)}: it must be a string of 1 to ${LONGEST_KEY} characters`,
  )
}

/** The scope of the idempotency keys of a task. */
export function keyScope(taskId: string): string {
  return `runs/${taskId}`
}

/** Tags as a list, checked. */
export function readTags(tags: string | readonly string[] | undefined): readonly string[] {
  if (tags === undefined) return NONE
  const isUsable: boolean = typeof tags === 'string' || Array.isArray(tags)
  if (!isUsable) throw new TypeError('Cannot use tags: they must be a string or a list of strings')
  const list = typeof tags === 'string' ? [tags] : [...tags]
  if (list.length === 0) return NONE
  if (list.length > MOST_TAGS)
    throw new RangeError(`Cannot use ${list.length} tags: at most ${MOST_TAGS} are allowed`)
  for (const tag of list) {
    if (typeof tag === 'string' && tag.length >= 1 && tag.length <= LONGEST_TAG) continue
    throw new RangeError(`Cannot use tag ${show(tag)}: it must be a string of 1 to ${LONGEST_TAG} characters`)
  }
  return list
}

/**
 * Checks the options that say where a run waits, before they are part of anything: they may be any value.
 *
 * @throws TypeError or RangeError for what cannot be used.
 */
export function checkPlacement({
  queue,
  concurrencyKey,
  tags,
}: Pick<TriggerOptions, 'queue' | 'concurrencyKey' | 'tags'>): void {
  readQueue(queue)
  readConcurrencyKey(concurrencyKey)
  readTags(tags)
}

function readMetadataOption(metadata: unknown): string | undefined {
  if (metadata === undefined) return undefined
  requireObject(metadata, 'metadata')
  return toJson(metadata, 'metadata')
}

function readQueue(queue: TriggerOptions['queue']): string | undefined {
  if (queue === undefined) return undefined
  requireObject(queue, 'queue')
  return requireName(queue.name, 'queue.name')
}

function readConcurrencyKey(key: string | undefined): string | undefined {
  return key === undefined ? undefined : requireName(key, 'concurrencyKey')
}

/** Whole milliseconds; none for those of a run without a priority. */
function readPriority(seconds: number | undefined): number | undefined {
  if (seconds === undefined) return undefined
  if (!Number.isFinite(seconds) || Math.abs(seconds) > MOST_PRIORITY_S)
    throw new RangeError(
      `Cannot use priority ${show(seconds)}: it must be a number of seconds from -${MOST_PRIORITY_S} to ${MOST_PRIORITY_S}`,
    )
  const ms = Math.round(seconds * 1_000)
  return ms === 0 ? undefined : ms
}

/** What the task makes of the payload for people, cut; nothing if it cannot. */
function titleOf(
  { events, values }: Ports,
  definition: TaskDefinition,
  { read, ...record }: { readonly read?: unknown; readonly payloadJson: string | undefined },
): string {
  let title = ''
  events.report(() => {
    const given: unknown = definition.options.title?.(read ?? payloadOf({ definition, record }, values))
    return chain(given, (text) => {
      if (typeof text !== 'string' || isPromise(given))
        throw new TypeError(
          `Cannot use ${show(given)} as the title of a run of task "${definition.id}": it must be a string`,
        )
      title = text.slice(0, LONGEST_TITLE)
    })
  })
  return title
}

function overridesJson(
  options: TriggerOptions,
  parent: RunRecord | undefined,
  id: string,
): string | undefined {
  const { maxAttempts, maxDuration, freeKeyOnFailure = false } = options
  requireFlag(freeKeyOnFailure, 'freeKeyOnFailure')
  const parentAttempt = freeKeyOnFailure ? parent?.policyAttempt : undefined
  const batchId = batchIdOf(options, id)
  const isTaskAsItIs = maxAttempts === undefined && maxDuration === undefined
  if (isTaskAsItIs && parentAttempt === undefined && batchId === undefined) return undefined
  if (maxAttempts !== undefined) requireWhole(maxAttempts, 'maxAttempts', { from: 1 })
  const overrides: RunOverrides = {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(maxDuration === undefined ? {} : { maxDurationMs: parseSeconds(maxDuration, 'maxDuration') }),
    ...(parentAttempt === undefined ? {} : { parentAttempt }),
    ...(batchId === undefined ? {} : { batchId }),
  }
  return JSON.stringify(overrides)
}

/** Few runs have one: apart from `overridesJson`, which would pay for it. */
function withTitle(overrides: string | undefined, title: string | undefined): string | undefined {
  if (title === undefined) return overrides
  return JSON.stringify({ ...readOverrides(overrides), title })
}

/** The batch of the run, which is named after the first one made for it. */
function batchIdOf(options: TriggerOptions, id: string): string | undefined {
  const batch = marksOf(options)?.batch
  return batch && (batch.id ??= id.replace('run', 'batch'))
}
