import type { TaskShape } from './run.ts'
import type { TaskOptions } from './task.ts'

/** When a task is executed by itself. */
export interface TaskScheduleOptions {
  /**
   * A cron pattern: minute, hour, day of the month, month, day of the week, such as `30 9 * * MON-FRI`; with six fields the
   * first one is the second.
   *
   * @default none: the task is executed by the schedules that are created with `schedules.create`
   */
  readonly cron?: string
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
   * - `last`: one, for the last of them.
   * - `all`: one for each, the last thousand at most.
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

/** A schedule: of a task of the engine, or one that was created. */
export interface TaskSchedule {
  readonly id: string
  /** `DECLARATIVE`: the task has it as its option. `IMPERATIVE`: it was created. */
  readonly type: 'DECLARATIVE' | 'IMPERATIVE'
  readonly taskId: string
  readonly cron: string
  readonly timezone: string
  readonly catchUp: 'none' | 'last' | 'all'
  /** Whether it triggers runs. A schedule of a task always does. */
  readonly isActive: boolean
  /** As given to `create`. */
  readonly externalId?: string
  /** As given to `create`. */
  readonly deduplicationKey?: string
  /** The next instant from now on; absent while it is not active. */
  readonly nextAt?: Date
}

/** What a schedule that is created may be changed to. */
export interface ScheduleChange {
  /**
   * A task that has the option `schedule`, or its id.
   *
   * @default as it is
   */
  readonly task?: string | TaskShape<ScheduledPayload>
  /**
   * A pattern, as that of a task.
   *
   * @default as it is
   */
  readonly cron?: string
  /**
   * The IANA time zone that the pattern is read in.
   *
   * @default as it is
   */
  readonly timezone?: string
  /**
   * A name of yours, such as the id of a user, which its runs have in their payload.
   *
   * @default as it is
   */
  readonly externalId?: string
}

/** Options of `schedules.create`. */
export interface CreateScheduleOptions {
  /** A task that has the option `schedule`, or its id. */
  readonly task: string | TaskShape<ScheduledPayload>
  /** A pattern, as that of a task. */
  readonly cron: string
  /**
   * The IANA time zone that the pattern is read in.
   *
   * @default `UTC`
   */
  readonly timezone?: string
  /**
   * A name of yours, such as the id of a user, which its runs have in their payload.
   *
   * @default none
   */
  readonly externalId?: string
  /** There is one schedule with this key: if it is there already, it is changed to what is given. */
  readonly deduplicationKey: string
}

/**
 * The schedules of an engine; see docs/queues-and-schedules.md#schedules. Those that are created are kept in its storage, and every engine on it
 * has them. A schedule of a task is changed in its code: other changes of it reject with `ERR_CANNOT_SCHEDULE`, as all do on
 * a storage that keeps no schedules.
 */
export interface SchedulesNamespace {
  /** The schedules of all tasks, in the order of the tasks, then those that were created, the oldest first. */
  list(): Promise<readonly TaskSchedule[]>
  /** The schedule with this id, or of the task with this id. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  retrieve(schedule: string): Promise<TaskSchedule>
  /**
   * Creates a schedule, or changes the one with this key. From its next instant on it triggers runs. Rejects with
   * `ERR_TASK_NOT_FOUND`, `ERR_CANNOT_SCHEDULE`, or a TypeError or RangeError for options that cannot be used.
   *
   * @example
   * ```ts
   * const daily = { task: 'report', cron: '0 9 * * *', timezone: 'Europe/Vienna' }
   * const { id } = await engine.schedules.create({ ...daily, externalId: 'user 1', deduplicationKey: 'user 1' })
   * ```
   */
  create(options: CreateScheduleOptions): Promise<TaskSchedule>
  /** Changes what is given. Rejects with `ERR_SCHEDULE_NOT_FOUND`, and as `create` does. */
  update(schedule: string, change: ScheduleChange): Promise<TaskSchedule>
  /** Removes a schedule. Runs that it has triggered stay. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  del(schedule: string): Promise<{ readonly id: string }>
  /** Has a schedule trigger runs again. What came meanwhile was not missed. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  activate(schedule: string): Promise<TaskSchedule>
  /** Has a schedule trigger no runs. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  deactivate(schedule: string): Promise<TaskSchedule>
}
