import { requireCron, requireTimeZone } from '../primitives/cron-pattern.ts'
import { type OptionNames, requireOptions, show } from '../primitives/require.ts'
import type { TaskScheduleOptions } from './schedule.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'

/** The schedule of a task, checked when the task was defined. */
export interface ScheduleDefinition extends Required<Omit<TaskScheduleOptions, 'cron'>> {
  readonly id: string
  /** Absent: the task is executed by schedules that are created. */
  readonly cron: string | undefined
}

const NAMES: OptionNames<TaskScheduleOptions> = { cron: true, timezone: true, catchUp: true }
const CATCH_UPS: readonly unknown[] = ['none', 'last', 'all']

/** @throws TypeError or RangeError for a schedule that cannot be used. */
export function readSchedule(options: TaskScheduleOptions, taskId: string): ScheduleDefinition {
  const what = `schedule of task "${taskId}"`
  requireOptions(options, what, NAMES)
  const { cron, timezone = 'UTC', catchUp = 'none' } = options
  if (!CATCH_UPS.includes(catchUp))
    throw new RangeError(`Cannot use catchUp ${show(catchUp)} of the ${what}: use ${CATCH_UPS.join(', ')}`)
  return {
    id: `sched_${taskId}`,
    cron: cron === undefined ? undefined : requireCron(cron, `cron of the ${what}`),
    timezone: requireTimeZone(timezone, `timezone of the ${what}`),
    catchUp,
  }
}

/** The schema of a task with a schedule: the instants of a payload are stored as texts, and read as dates. */
export const SCHEDULED_PAYLOAD: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'waitpoint', validate: (payload) => ({ value: withDates(payload) }) },
}

function withDates(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || !('timestamp' in payload)) return payload
  const { timestamp, lastTimestamp, upcoming } = payload as Readonly<Record<string, unknown>>
  return {
    ...payload,
    timestamp: toDate(timestamp),
    ...(lastTimestamp === undefined ? {} : { lastTimestamp: toDate(lastTimestamp) }),
    ...(Array.isArray(upcoming) ? { upcoming: upcoming.map(toDate) } : {}),
  }
}

function toDate(value: unknown): unknown {
  return typeof value === 'string' ? new Date(value) : value
}
