import type { AnyTask } from '../../api/run.ts'
import { ENGINE_OPTION_NAMES, type EngineOptions, readEngineOptions } from '../../api/engine-options.ts'
import { type OptionNames, requireFunction, requireList, requireWhole } from '../../primitives/require.ts'
import { requireOneOf } from '../../primitives/require-one-of.ts'
import type { Fault, ScheduleOptions } from './schedule.ts'
import type { Adapter } from './world.ts'

/** Options of a body, besides those of the engine. See docs/exploring.md. */
export interface BodyOptions extends Omit<EngineOptions, 'storage' | 'clock'> {
  /**
   * The tasks that it executes and triggers.
   *
   * @default none
   */
  readonly tasks?: readonly AnyTask[]
  /**
   * Whether the process may die, before and after every write to the storage.
   *
   * @default `'never'`
   */
  readonly crashes?: 'never' | 'every-commit'
  /**
   * Whether the process of an engine may stand still before a write for longer than its lease, as in a suspended machine.
   *
   * @default `'never'`
   */
  readonly pauses?: 'never' | 'every-commit'
  /**
   * How far the clock of an engine that the body starts may be ahead; behind, if negative. It may also be right.
   *
   * @unit milliseconds
   * @default none: all clocks are right
   */
  readonly clockSkewsMs?: readonly number[]
  /**
   * How a storage call may fail: `error`, before its effect; `lost`, after it; `late`, its answer comes after something
   * else. `lost-response`: a request over HTTP is carried out, and its response is lost.
   *
   * @default none
   */
  readonly faults?: readonly Fault[]
  /**
   * A storage to be tested, on top of one whose every call is a boundary.
   *
   * @default none
   */
  readonly adapter?: Adapter
  /**
   * Boundaries after which a schedule counts as endless.
   *
   * @unit boundaries
   * @default `10_000`
   */
  readonly maxSteps?: number
}

/** The names of the options, for functions that refuse others. */
export const BODY_OPTION_NAMES: OptionNames<BodyOptions> = {
  crashes: true,
  pauses: true,
  clockSkewsMs: true,
  faults: true,
  adapter: true,
  maxSteps: true,
  ...ENGINE_OPTION_NAMES,
}

/** A century. */
const MOST_SKEW_MS = 3_155_760_000_000
const MOMENTS: readonly string[] = ['never', 'every-commit'] satisfies readonly BodyOptions['crashes'][]
const FAULTS: readonly string[] = ['error', 'lost', 'late', 'lost-response'] satisfies readonly Fault[]

/**
 * Checks the options of a body, those of the engine included, and applies the defaults. The caller checks the names.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 */
export function scheduleOptions(options: BodyOptions): ScheduleOptions {
  const { crashes = 'never', pauses = 'never', faults = [], clockSkewsMs = [], ...others } = options
  const { tasks = [], maxSteps = 10_000, adapter, ...engine } = others
  requireOneOf(crashes, 'crashes', MOMENTS)
  requireOneOf(pauses, 'pauses', MOMENTS)
  requireList(clockSkewsMs, 'clockSkewsMs')
  for (const ms of clockSkewsMs) requireWhole(ms, 'clockSkewsMs', { from: -MOST_SKEW_MS, to: MOST_SKEW_MS })
  requireList(faults, 'faults')
  for (const fault of faults) requireOneOf(fault, 'fault', FAULTS)
  requireFunction(adapter, 'adapter')
  requireWhole(maxSteps, 'maxSteps', { from: 1 })
  readEngineOptions({ ...engine, tasks })
  return { engine, tasks, adapter, crashes, pauses, faults, clockSkewsMs, maxSteps }
}
