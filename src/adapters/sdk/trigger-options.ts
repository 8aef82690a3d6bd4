import type { TriggerOptions } from '../../api/run.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { type MachineName, machineName } from './context.ts'
import { hostedOnly } from './hosted-only.ts'
import { type IdempotencyKey, triggerKey } from './idempotency-keys.ts'
import { requireTypes } from './option-types.ts'
import type { Untyped } from './untyped.ts'
import { asJson } from './values.ts'

/** Tags: one, or up to ten. */
export type RunTags = string | string[]

/**
 * Options of `trigger`. docs/hosted-task-files.md says which have no effect. Instants of a `debounce` are not rounded to seconds. In mode
 * `trailing`, if the last trigger has one of `maxAttempts` and `maxDuration`, the other one is that of the task.
 */
export interface HostedTriggerOptions {
  /** Belongs to the run that triggers, unless `idempotencyKeys.create` made it. */
  idempotencyKey?: IdempotencyKey | string | string[]
  /** 30 days if it is left out. */
  idempotencyKeyTTL?: string
  maxAttempts?: number
  queue?: string
  concurrencyKey?: string
  /** A time from now, or an instant. */
  delay?: string | Date
  /** 0 is none. */
  ttl?: string | number
  tags?: RunTags
  metadata?: Record<string, Untyped>
  maxDuration?: number
  /** Not with an `idempotencyKey`. `triggerAndWait` waits for the run that it puts off or makes. */
  debounce?: { key: string; delay: string; mode?: 'leading' | 'trailing'; maxDelay?: string }
  /** The run stands in line as if it had been triggered so many seconds earlier. */
  priority?: number
  /** Without effect. */
  machine?: MachineName
  /** Without effect. */
  version?: string
  /** Without effect. */
  externalDeploymentId?: string
  /** Without effect. */
  region?: string
  /** Refused: limits are those of queues. */
  concurrency?: string | string[]
}

/** Options of `triggerAndWait`. */
export type TriggerAndWaitOptions = Omit<HostedTriggerOptions, 'version'>

/** Options of a batch. */
export interface BatchTriggerOptions {
  /** With the number of the item, the key of each item that has none. */
  idempotencyKey?: IdempotencyKey | string | string[]
  /** Of each item that has none. */
  idempotencyKeyTTL?: string
  /** Without effect: runs are always stored in the order of their items. */
  triggerSequentially?: boolean
}

const NAMES: OptionNames<HostedTriggerOptions> = {
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  maxAttempts: true,
  queue: true,
  concurrencyKey: true,
  delay: true,
  ttl: true,
  tags: true,
  metadata: true,
  maxDuration: true,
  debounce: true,
  priority: true,
  machine: true,
  version: true,
  externalDeploymentId: true,
  region: true,
  concurrency: true,
}

const UNUSED = { version: 'string', externalDeploymentId: 'string', region: 'string' } as const

/** A key of users lasts this long in the hosted service. */
const KEY_TTL = '30d'
/** A higher priority counts as this one there. */
const MOST_PRIORITY = 2_147_483

/**
 * The options as the engine takes them.
 *
 * @throws TypeError for an option that does not exist; `ERR_HOSTED_ONLY` for one that would change what happens.
 */
export function engineTriggerOptions(options?: HostedTriggerOptions): TriggerOptions {
  if (options === undefined) return {}
  requireOptions(options, 'the options of trigger', NAMES)
  const { idempotencyKey, idempotencyKeyTTL, queue, ttl, tags, maxAttempts, concurrency } = options
  if (concurrency !== undefined)
    throw hostedOnly('trigger with concurrency', 'give the task a queue with a concurrencyLimit')
  const { concurrencyKey, delay, debounce, metadata, maxDuration, priority } = options
  // Without effect, and checked all the same.
  requireTypes(options, 'trigger', UNUSED)
  if (options.machine !== undefined) machineName(options.machine, 'trigger')
  const kept = { delay, debounce, metadata: asJson(metadata), maxDuration }
  const translated = {
    idempotencyKey: isEmptyKey(idempotencyKey) ? undefined : triggerKey(idempotencyKey),
    // Without a key it has no effect, and is checked all the same.
    idempotencyKeyTTL: idempotencyKeyTTL ?? (isEmptyKey(idempotencyKey) ? undefined : KEY_TTL),
    freeKeyOnFailure: isEmptyKey(idempotencyKey) ? undefined : true,
    // An empty name is none, as there.
    queue: queue ? { name: queue } : undefined,
    concurrencyKey: concurrencyKeyOf(concurrencyKey),
    ttl: ttl === 0 ? undefined : ttl,
    tags: tags === undefined ? undefined : [tags].flat().filter((tag) => tag !== ''),
    maxAttempts: bounded(maxAttempts, 1, Number.POSITIVE_INFINITY),
    priority: bounded(priority, -MOST_PRIORITY, MOST_PRIORITY),
  }
  const given = Object.entries({ ...kept, ...translated }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}

/** What is no number is left to the engine, which refuses it. */
function bounded(value: number | undefined, least: number, most: number): number | undefined {
  return typeof value === 'number' ? Math.min(Math.max(value, least), most) : value
}

/** A number, which the types refuse, is a text, and an empty text is none, as in the hosted service. */
function concurrencyKeyOf(key: unknown): unknown {
  return typeof key === 'number' ? String(key) : key || undefined
}

type GivenKey = HostedTriggerOptions['idempotencyKey']

/** Also `null`, which the types refuse. */
export function isEmptyKey(key: GivenKey | null): key is undefined {
  return !key || key.length === 0
}

/** The options of an item of a batch, which may have its key from the batch. */
export function itemOptions(
  options: HostedTriggerOptions | undefined,
  { idempotencyKey, idempotencyKeyTTL }: BatchTriggerOptions,
  index: number,
): TriggerOptions {
  const ttl = options?.idempotencyKeyTTL ?? idempotencyKeyTTL
  const own = ttl === undefined ? options : { ...options, idempotencyKeyTTL: ttl }
  if (!isEmptyKey(options?.idempotencyKey) || isEmptyKey(idempotencyKey)) return engineTriggerOptions(own)
  return engineTriggerOptions({ ...own, idempotencyKey: [[idempotencyKey].flat(), String(index)].flat() })
}
