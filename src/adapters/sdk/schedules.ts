import type { TaskSchedule } from '../../api/schedule.ts'
import { taskSchedules } from '../../core/ambient/ambient.ts'
import { scheduledTask } from './define-task.ts'
import { refusing } from './hosted-only.ts'

/** A schedule of the hosted service. */
export interface ScheduleObject {
  id: string
  type: 'DECLARATIVE' | 'IMPERATIVE'
  task: string
  active: boolean
  generator: { type: 'CRON'; expression: string; description: string }
  timezone: string
  nextRun?: Date | null
  externalId?: string | null
  deduplicationKey?: string | null
}

/** Schedules, in one page. */
export interface SchedulePage {
  data: ScheduleObject[]
  pagination: { currentPage: number; totalPages: number; count: number }
}

type Refusing<Result> = (...values: readonly unknown[]) => Promise<Result>

/** Scheduled tasks, and the schedules that they declare. */
export interface Schedules {
  readonly task: typeof scheduledTask
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly create: Refusing<ScheduleObject>
  /** The schedule of a task of the engine. Rejects with `ERR_SCHEDULE_NOT_FOUND`. */
  retrieve(scheduleId: string, requestOptions?: object): Promise<ScheduleObject>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly update: Refusing<ScheduleObject>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly del: Refusing<{ id: string }>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly activate: Refusing<ScheduleObject>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly deactivate: Refusing<ScheduleObject>
  /** The schedules of the tasks of the engine, which are one page. */
  list(
    options?: { page?: number; perPage?: number },
    requestOptions?: object,
  ): Promise<SchedulePage> & AsyncIterable<ScheduleObject>
  /** The time zones that this process knows. */
  timezones(options?: { excludeUtc?: boolean }): Promise<{ timezones: string[] }>
}

const CURE = 'schedules are those that tasks declare; give schedules.task a cron'

/** `schedules`. */
export const hostedSchedules: Schedules = {
  task: scheduledTask,
  create: refusing('schedules.create', CURE),
  retrieve: async (scheduleId) => scheduleObject(await taskSchedules.retrieve(scheduleId)),
  update: refusing('schedules.update', CURE),
  del: refusing('schedules.del', CURE),
  activate: refusing('schedules.activate', CURE),
  deactivate: refusing('schedules.deactivate', CURE),
  list: () => {
    const page = listAll()
    return Object.assign(page, {
      async *[Symbol.asyncIterator]() {
        yield* (await page).data
      },
    })
  },
  timezones: async ({ excludeUtc = false } = {}) => ({
    timezones: [
      ...(excludeUtc ? [] : ['UTC']),
      ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC'),
    ],
  }),
}

async function listAll(): Promise<SchedulePage> {
  const data = (await taskSchedules.list()).map(scheduleObject)
  return { data, pagination: { currentPage: 1, totalPages: 1, count: data.length } }
}

function scheduleObject({ id, taskId, cron, timezone, nextAt }: TaskSchedule): ScheduleObject {
  return {
    id,
    type: 'DECLARATIVE',
    task: taskId,
    active: true,
    generator: { type: 'CRON', expression: cron, description: '' },
    timezone,
    nextRun: nextAt,
  }
}
