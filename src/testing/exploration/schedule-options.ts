import type { AnyTask } from '../../api/run.ts'
import type { EngineOptions } from '../../core/engine-options.ts'
import type { Fault, ScheduleOptions } from './schedule.ts'
import type { Adapter } from './world.ts'

/** Options of a body, besides those of the engine. See docs/exploring-races.md. */
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
   * How a storage call may fail: `error`, before its effect; `lost`, after it; `late`, its answer comes after something
   * else.
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

/** Applies the defaults. */
export function scheduleOptions(options: BodyOptions): ScheduleOptions {
  const { crashes = 'never', faults = [], tasks = [], maxSteps = 10_000, adapter, ...engine } = options
  return { engine, tasks, adapter, crashes, faults, maxSteps }
}
