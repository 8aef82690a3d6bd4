import type { TaskOptions } from './task.ts'

/** When a task is executed by itself. */
export interface TaskScheduleOptions {
  /**
   * A cron pattern: minute, hour, day of the month, month, day of the week, such as `30 9 * * MON-FRI`; with six fields the
   * first one is the second.
   */
  readonly cron: string
  /**
   * The IANA time zone that the pattern is read in.
   *
   * @default `UTC`
   */
  readonly timezone?: string
  /**
   * The runs for instants that were missed while no engine was there to trigger them.
   *
   * - `none`: there are none.
   * - `last`: one, for the last instant that was missed.
   * - `all`: one for each instant that was missed, the last thousand at most.
   *
   * @default `'none'`
   */
  readonly catchUp?: 'none' | 'last' | 'all'
}

/** The payload of a run that a schedule has triggered. */
export interface ScheduledPayload {
  readonly type: 'DECLARATIVE' | 'IMPERATIVE'
  readonly scheduleId: string
  /** The instant that the run was scheduled for. */
  readonly timestamp: Date
  /** The instant of the run before it, if there was one. */
  readonly lastTimestamp?: Date
  readonly timezone: string
  readonly externalId?: string
  /** The next ten instants. */
  readonly upcoming: readonly Date[]
}

/** Options of a task that has a schedule. */
export interface ScheduledTaskOptions<Output> extends TaskOptions<ScheduledPayload, Output> {
  /** When the task is executed by itself: once for each instant, by whichever engine on the storage comes first. */
  readonly schedule: TaskScheduleOptions
}

/** A schedule of a task of the engine. */
export interface TaskSchedule {
  readonly id: string
  readonly taskId: string
  readonly cron: string
  readonly timezone: string
  readonly catchUp: 'none' | 'last' | 'all'
  /** The next instant from now on. */
  readonly nextAt: Date
}

/** The schedules of an engine; see docs/schedules.md. */
export interface SchedulesNamespace {
  /** The schedules of all tasks, in the order of the tasks. */
  list(): Promise<readonly TaskSchedule[]>
  /** The schedule with this id, or of the task with this id. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  retrieve(schedule: string): Promise<TaskSchedule>
}
