import type { CreateScheduleOptions, TaskSchedule } from '../../api/schedule.ts'
import { taskSchedules } from '../../core/ambient/ambient.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { timeZones } from '../../primitives/time-zones.ts'
import { currentEnvironment } from './context.ts'
import { scheduledTask } from './define-task.ts'
import { enginePattern } from './engine-pattern.ts'
import { requireTypes } from './option-types.ts'
import { type OffsetOptions, type OffsetPagePromise, offsetPages } from './offset-page.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'

/** A schedule of the hosted service. */
export interface ScheduleObject {
  id: string
  type: 'DECLARATIVE' | 'IMPERATIVE'
  task: string
  active: boolean
  generator: { type: 'CRON'; expression: string; description: string }
  timezone: string
  nextRun?: Date | null
  /** As `nextRun`: there is no window. */
  nextRunEffectiveAt?: Date | null
  externalId?: string | null
  deduplicationKey?: string | null
  /** Left out: there is none. */
  window?: string
  /** Left out. */
  appliedSchedulePolicy?: { minimumWindowSeconds: number; reason: 'free_schedule' }
  environments: { id: string; type: string; userName?: string | null }[]
}

/** Options of `schedules.update`. */
export interface HostedUpdateScheduleOptions {
  /** The id of a scheduled task. */
  task: string
  cron: string
  /** UTC if it is left out. */
  timezone?: string
  /** A name of yours, which the payloads have. */
  externalId?: string
  /** Without effect: a run is triggered at its instant. */
  window?: string
}

/** Options of `schedules.create`. */
export interface HostedCreateScheduleOptions extends HostedUpdateScheduleOptions {
  /** There is one schedule with this key: a second call changes it. */
  deduplicationKey: string
}

/** Scheduled tasks, their schedules, and those that are created. */
export interface Schedules {
  readonly task: typeof scheduledTask
  /**
   * Creates a schedule of a task of the engine, or changes the one with its key. Rejects with `ERR_TASK_NOT_FOUND`, with
   * `ERR_CANNOT_SCHEDULE`, and with a TypeError or RangeError for options that cannot be used.
   */
  create(options: HostedCreateScheduleOptions, requestOptions?: RequestOptions): Promise<ScheduleObject>
  /** Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  retrieve(scheduleId: string, requestOptions?: RequestOptions): Promise<ScheduleObject>
  /** Rejects with `ERR_SCHEDULE_NOT_FOUND`, with `ERR_CANNOT_SCHEDULE` for a schedule that a task declares, and as `create`. */
  update(
    scheduleId: string,
    options: HostedUpdateScheduleOptions,
    requestOptions?: RequestOptions,
  ): Promise<ScheduleObject>
  /** Rejects as `update` does. */
  del(scheduleId: string, requestOptions?: RequestOptions): Promise<{ id: string }>
  /** Rejects as `update` does. */
  activate(scheduleId: string, requestOptions?: RequestOptions): Promise<ScheduleObject>
  /** Rejects as `update` does. */
  deactivate(scheduleId: string, requestOptions?: RequestOptions): Promise<ScheduleObject>
  /** All schedules: those that tasks declare first. Awaited: one page, of 20 unless `perPage` says otherwise. */
  list(options?: OffsetOptions, requestOptions?: RequestOptions): OffsetPagePromise<ScheduleObject>
  /** The time zones that this process knows. */
  timezones(options?: { excludeUtc?: boolean }): Promise<{ timezones: string[] }>
}

/** `schedules`. */
export const hostedSchedules: Schedules = /* @__PURE__ */ takingRequests<Schedules>(
  {
    task: scheduledTask,
    create: async (options) => {
      requireOptions(options, 'the options of schedules.create', CREATE_NAMES)
      const { deduplicationKey } = options
      return scheduleObject(await taskSchedules.create({ ...engineOptions(options), deduplicationKey }))
    },
    retrieve: async (scheduleId) => scheduleObject(await taskSchedules.retrieve(scheduleId)),
    update: async (scheduleId, options) => {
      requireOptions(options, 'the options of schedules.update', UPDATE_NAMES)
      return scheduleObject(await taskSchedules.update(scheduleId, engineOptions(options)))
    },
    del: (scheduleId) => taskSchedules.del(scheduleId),
    activate: async (scheduleId) => scheduleObject(await taskSchedules.activate(scheduleId)),
    deactivate: async (scheduleId) => scheduleObject(await taskSchedules.deactivate(scheduleId)),
    list: (options) => offsetPages(async () => (await taskSchedules.list()).map(scheduleObject), options),
    timezones: async (options = {}) => {
      requireOptions(options, 'the options of schedules.timezones', { excludeUtc: true })
      return { timezones: timeZones(options) }
    },
  },
  { create: 1, retrieve: 1, update: 2, del: 1, activate: 1, deactivate: 1, list: 1 },
)

const UPDATE_NAMES: OptionNames<HostedUpdateScheduleOptions> = {
  task: true,
  cron: true,
  timezone: true,
  externalId: true,
  window: true,
}
const CREATE_NAMES: OptionNames<HostedCreateScheduleOptions> = { ...UPDATE_NAMES, deduplicationKey: true }

function engineOptions(
  options: HostedUpdateScheduleOptions,
): Omit<CreateScheduleOptions, 'deduplicationKey'> {
  requireTypes(options, 'a schedule', { window: 'string' })
  const { task, cron, timezone = 'UTC', externalId } = options
  return { task, cron: enginePattern(cron), timezone, ...(externalId === undefined ? {} : { externalId }) }
}

function scheduleObject(schedule: TaskSchedule): ScheduleObject {
  const { id, type, taskId, isActive, cron, timezone, nextAt, externalId, deduplicationKey } = schedule
  return {
    id,
    type,
    task: taskId,
    active: isActive,
    generator: { type: 'CRON', expression: cron, description: '' },
    timezone,
    ...(nextAt === undefined ? {} : { nextRun: nextAt, nextRunEffectiveAt: nextAt }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(deduplicationKey === undefined ? {} : { deduplicationKey }),
    environments: [{ id: 'local', type: currentEnvironment().type }],
  }
}
