import type { DebounceOptions, TriggerOptions } from '../../api/run.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { KeyRecord, RunRecord } from '../../contract/records.ts'
import type { PushedChange, RunBinding, RunPush, Storage } from '../../contract/storage.ts'
import type { MadeId } from '../../primitives/id.ts'
import { LAST_INSTANT, parseDuration } from '../../primitives/duration.ts'
import { type OptionNames, requireOptions, show } from '../../primitives/require.ts'
import { readOverrides } from '../host/overrides.ts'
import { DEBOUNCE_SCOPE } from '../../contract/key-scopes.ts'

const NAMES: OptionNames<DebounceOptions> = { key: true, delay: true, mode: true, maxDelay: true }
const MODES: readonly unknown[] = ['leading', 'trailing']
const LONGEST_KEY = 2_048

/** The option `debounce`, checked. */
interface ReadDebounce extends RunPush {
  /** It has expired from the beginning: the run is found by pushes alone. */
  readonly key: KeyRecord
}

/**
 * Reads the option `debounce` of a trigger.
 *
 * @throws TypeError or RangeError for what cannot be used.
 */
export function readDebounce(taskId: string, options: TriggerOptions, now: number): ReadDebounce | undefined {
  const { debounce } = options
  if (debounce === undefined) return undefined
  requireOptions(debounce, 'debounce', NAMES)
  const { key, delay, mode = 'leading', maxDelay } = debounce
  if (options.idempotencyKey !== undefined)
    throw new TypeError(
      'Cannot use debounce with an idempotencyKey: one key says which run a trigger is; leave out one of the two',
    )
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY)
    throw new RangeError(
      `Cannot use debounce.key ${show(key)}: it must be a string of 1 to ${LONGEST_KEY} characters`,
    )
  if (!MODES.includes(mode))
    throw new RangeError(`Cannot use debounce.mode ${show(mode)}: use "leading" or "trailing"`)
  const delayMs = readDelay(delay, 'debounce.delay', now)
  const withinMs = maxDelay === undefined ? undefined : readDelay(maxDelay, 'debounce.maxDelay', now)
  if (withinMs !== undefined && withinMs <= delayMs)
    throw new RangeError(
      `Cannot use debounce.maxDelay ${show(maxDelay)}: it must be longer than debounce.delay ${show(delay)}, or no trigger would put a run off`,
    )
  const scope = `${DEBOUNCE_SCOPE}${taskId}`
  return { key: { scope, value: key, expiresAt: now }, wakeAt: now + delayMs, withinMs }
}

function readDelay(delay: unknown, name: string, now: number): number {
  if (delay instanceof Date)
    throw new TypeError(
      `Cannot use ${name} ${show(delay)}: it must be a duration, for each trigger counts anew`,
    )
  // `parseDuration` checks the type.
  const delayMs = parseDuration(delay as number | string, name)
  if (delayMs === 0) throw new RangeError(`Cannot use ${name} ${show(delay)}: it must be longer than nothing`)
  if (now + delayMs > LAST_INSTANT)
    throw new RangeError(`Cannot use ${name} ${show(delay)}: no date is that far ahead`)
  return delayMs
}

/** How a trigger puts off the run of its key, if there is one. `record` is the run that it makes otherwise. */
export function pushOf(record: RunRecord, options: TriggerOptions, now: number): RunPush | undefined {
  const debounce = readDebounce(record.taskId, options, now)
  if (debounce === undefined) return undefined
  const { wakeAt, withinMs } = debounce
  return options.debounce?.mode === 'trailing'
    ? { wakeAt, withinMs, change: changeOf(record, options) }
    : { wakeAt, withinMs }
}

/** Binds the place of a wait to the run that is answered: that is one of other triggers, too, and its key does not say so. */
export function runBinding(place: KeyRecord, made: MadeId): RunBinding {
  const binding = { kind: 'BINDING', status: 'COMPLETED', tags: [], key: place, runId: place.scope } as const
  return { ...made, ...binding, completedAt: made.createdAt }
}

/** What the last trigger replaces: its payload, and what else it was given. */
function changeOf(
  { payloadJson, metadataJson, tags, optionsJson }: RunRecord,
  { metadata, tags: given, maxAttempts, maxDuration }: TriggerOptions,
): PushedChange {
  // A title is that of its payload.
  const isTitled = readOverrides(optionsJson).title !== undefined
  return {
    payloadJson,
    ...(metadata === undefined ? {} : { metadataJson }),
    ...(given === undefined ? {} : { tags }),
    ...(maxAttempts === undefined && maxDuration === undefined && !isTitled ? {} : { optionsJson }),
  }
}

/** @throws WaitpointError `ERR_DEBOUNCE_UNSUPPORTED` for a storage that has none. */
export function requireDebouncing(storage: Storage, what: string): void {
  if (storage.debounces === true) return
  throw new WaitpointError(
    'ERR_DEBOUNCE_UNSUPPORTED',
    `Cannot ${what} with debounce: the storage of this engine has none; use one of waitpoint, or see docs/writing-a-storage.md`,
  )
}
