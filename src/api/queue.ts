import { TASK_LIMIT_START } from '../contract/id-prefixes.ts'
import type { QueueRate, RunLimit } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import {
  type OptionNames,
  requireList,
  requireName,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import type { Duration } from './token.ts'

/** In the options of a task: limits of queues that are declared apart from tasks, by their names, as they are when an engine is created. */
export const DECLARED_LIMITS: unique symbol = Symbol('declared limits')

/** The options of a task with such limits. */
export interface DeclaresLimits {
  readonly [DECLARED_LIMITS]?: ReadonlyMap<string, number | undefined>
}

/** The queue of a task. See docs/queues-and-schedules.md. */
export interface TaskQueueOptions {
  /**
   * Tasks with one name share the queue.
   *
   * @default `task/<id>`
   */
  readonly name?: string
  /**
   * So many runs may execute at once.
   *
   * @unit runs
   * @default no limit
   */
  readonly concurrencyLimit?: number
  /**
   * So many runs may start in any period.
   *
   * @default no rate
   */
  readonly rate?: QueueRateOptions
}

/**
 * In any period of this length, wherever it begins, at most so many runs of a queue start. A retry is a start, too. See
 * docs/queues-and-schedules.md.
 */
export interface QueueRateOptions {
  /**
   * So many runs: from 1 to 1,000,000.
   *
   * @unit runs
   */
  readonly limit: number
  /** The length of the period, from a second to a year. */
  readonly per: Duration
}

/**
 * A limit of the runs of a task, beside that of its queue, over all engines on the storage: `total`, `perKey` or both. A run that executes
 * counts in each of its limits. See docs/queues-and-schedules.md.
 */
export interface TaskLimit {
  /**
   * Tasks share a limit by its name. Each of them declares it alike.
   *
   * @default `limit/<id>`, which no other task has
   */
  readonly name?: string
  /**
   * So many runs may execute at once, over all concurrency keys.
   *
   * @unit runs
   * @default no limit
   */
  readonly total?: number
  /**
   * So many runs may execute at once for each concurrency key, and without one.
   *
   * @unit runs
   * @default no limit
   */
  readonly perKey?: number
}

/** A queue and its runs, as it is now. */
export interface RetrievedQueue {
  readonly name: string
  /** No run of it gets a slot. */
  readonly isPaused: boolean
  /**
   * How many of its runs may execute at once, for each concurrency key: what `setLimit` has set, else what tasks of this engine
   * say. Of a limit with only a total: over all keys. Absent: any number.
   */
  readonly limit?: number
  /** What tasks of this engine say. Absent: nothing. */
  readonly declaredLimit?: number
  /** When `setLimit` has set `limit`. Absent: it has not. */
  readonly limitedAt?: Date
  /**
   * How many of its runs may start in any period of `perMs` milliseconds, for each concurrency key: what `setRate` has set, else what tasks of
   * this engine say. Absent: any number.
   */
  readonly rate?: QueueRate
  /** What tasks of this engine say. Absent: nothing. */
  readonly declaredRate?: QueueRate
  /** When `setRate` has set `rate`. Absent: it has not. */
  readonly ratedAt?: Date
  /** Runs that hold a slot. */
  readonly running: number
  /** Runs that are `QUEUED`: counted among 10,000. */
  readonly queued: number
  /** Whether there may be more than `queued`. */
  readonly isMore: boolean
  /** Runs that have waited, could go on, and were refused a slot of the queue. They come before those that are queued. */
  readonly waitingForSlot: number
}

/**
 * One queue, or one limit that tasks have besides, over all engines on the storage. A change is in force once its promise has resolved: from then on no engine gives a run a slot
 * beyond it. It stays until it is changed again, also while no engine runs. Every call rejects with `ERR_CANNOT_SET_QUEUE` if the storage keeps nothing of queues, or
 * counts no starts for a rate. See docs/queues-and-schedules.md.
 */
export interface QueueHandle {
  readonly name: string
  retrieve(): Promise<RetrievedQueue>
  /** From now on no run gets a slot: none starts, none is retried, and none goes on after a wait. Runs that execute go on to their next wait. */
  pause(): Promise<RetrievedQueue>
  resume(): Promise<RetrievedQueue>
  /** Sets the limit, instead of that of the tasks. Rejects with a RangeError unless it is a whole number from 0 to 100,000. */
  setLimit(limit: number): Promise<RetrievedQueue>
  /** The limit is again that of the tasks. */
  resetLimit(): Promise<RetrievedQueue>
  /** Sets the rate, instead of that of the tasks. Rejects with a RangeError or TypeError for one that cannot be used. */
  setRate(rate: QueueRateOptions): Promise<RetrievedQueue>
  /** The rate is again that of the tasks. */
  resetRate(): Promise<RetrievedQueue>
}

const LIMIT_NAMES: OptionNames<TaskLimit> = { name: true, total: true, perKey: true }
const MOST_LIMITS = 3

/**
 * Checks the limits of a task, and names the one that has no name.
 *
 * @throws TypeError or RangeError for what cannot be used.
 */
export function readTaskLimits(
  limits: readonly TaskLimit[] | undefined = [],
  id: string,
): ReadonlyMap<string, RunLimit> {
  const what = `limits of task "${id}"`
  requireList(limits, what)
  if (limits.length > MOST_LIMITS)
    throw new RangeError(`Cannot use ${limits.length} ${what}: at most ${MOST_LIMITS} are allowed`)
  const read = new Map<string, RunLimit>()
  for (const limit of limits) {
    requireOptions(limit, what, LIMIT_NAMES)
    const { name = TASK_LIMIT_START + id, total, perKey } = limit
    requireName(name, 'limit.name')
    for (const [field, value] of [['total', total] as const, ['perKey', perKey] as const])
      if (value !== undefined) requireWhole(value, `limit.${field}`, { from: 1 })
    if (total === undefined && perKey === undefined)
      throw new TypeError(`Cannot use limit "${name}" of task "${id}": it needs total or perKey`)
    if (read.has(name)) throw new TypeError(`Cannot use ${what}: two are called "${name}"`)
    read.set(name, { total, perKey })
  }
  return read
}

/** A limit for people: `total 5, perKey 2`. */
export function runLimitText({ total, perKey }: RunLimit): string {
  const texts = [
    ...(total === undefined ? [] : [`total ${total}`]),
    ...(perKey === undefined ? [] : [`perKey ${perKey}`]),
  ]
  return texts.join(', ')
}

const NAMES: OptionNames<QueueRateOptions> = { limit: true, per: true }
const MOST_STARTS = 1_000_000
const SHORTEST_MS = 1_000
const LONGEST_MS = 366 * 86_400_000

/**
 * Checks a rate.
 *
 * @throws TypeError or RangeError for one that cannot be used.
 */
export function readRate(rate: QueueRateOptions, what: string): QueueRate {
  requireOptions(rate, what, NAMES)
  const { limit, per } = rate
  requireWhole(limit, `${what}.limit`, { from: 1, to: MOST_STARTS })
  const perMs = parseDuration(per, `${what}.per`)
  if (perMs >= SHORTEST_MS && perMs <= LONGEST_MS) return { limit, perMs }
  throw new RangeError(`Cannot use ${what}.per ${show(per)}: it must be from a second to a year`)
}

/** A rate for people: `100 per 1m`. */
export function rateText({ limit, perMs }: QueueRate): string {
  return `${limit} per ${durationText(perMs)}`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that has no fraction. */
function durationText(ms: number): string {
  const [name, length] = UNITS.find((unit) => ms % unit[1] === 0) ?? ['ms', 1]
  return `${ms / length}${name}`
}
