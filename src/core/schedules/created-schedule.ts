import { requireCron, requireTimeZone } from '../../primitives/cron-pattern.ts'
import { sha256 } from '../../primitives/digest.ts'
import { idOf, type OptionNames, requireName, requireOptions, show } from '../../primitives/require.ts'
import type { CreateScheduleOptions, ScheduleChange } from '../../api/schedule.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { TaskRegistry } from '../../api/task-definition.ts'
import { Calendar } from './calendar.ts'

/** A schedule that was created, as storage has it. */
export interface CreatedSchedule {
  readonly id: string
  readonly taskId: string
  readonly cron: string
  readonly timezone: string
  readonly externalId?: string
  readonly deduplicationKey: string
  readonly isActive: boolean
  readonly createdAt: number
  /** The instant from which on it is in force as it is. */
  readonly since: number
}

const CHANGE_NAMES: OptionNames<ScheduleChange> = { task: true, cron: true, timezone: true, externalId: true }
const CREATE_NAMES: OptionNames<CreateScheduleOptions> = { ...CHANGE_NAMES, deduplicationKey: true }

/**
 * The schedule that a user asks for.
 *
 * @throws TypeError or RangeError for options that cannot be used; `ERR_TASK_NOT_FOUND`; `ERR_CANNOT_SCHEDULE`.
 */
export function readCreated(
  options: CreateScheduleOptions,
  tasks: TaskRegistry,
  now: number,
): CreatedSchedule {
  requireOptions(options, 'the options of schedules.create', CREATE_NAMES)
  const { task, cron, timezone = 'UTC', externalId } = options
  const deduplicationKey = requireName(options.deduplicationKey, 'deduplicationKey')
  const created = {
    // One key has one id, so that storage sees to it that there is one schedule.
    id: `sched_${sha256(deduplicationKey, 'hex').slice(0, 24)}`,
    taskId: readTask(task, tasks),
    cron: requireCron(cron, 'cron'),
    timezone: requireTimeZone(timezone, 'timezone'),
    ...(externalId === undefined ? {} : { externalId: requireName(externalId, 'externalId') }),
    deduplicationKey,
    isActive: true,
    createdAt: now,
    since: now,
  }
  return withInstant(created)
}

/** As it is to be when a schedule with its key is there already: that one goes on, with what is given now. */
export function replaced(before: CreatedSchedule, created: CreatedSchedule): CreatedSchedule {
  const { createdAt, isActive } = before
  return inForce(before, { ...created, createdAt, isActive })
}

/** The schedule with what is to be changed of it. Throws as `readCreated()` does. */
export function changed(
  before: CreatedSchedule,
  change: ScheduleChange,
  { tasks, now }: { readonly tasks: TaskRegistry; readonly now: number },
): CreatedSchedule {
  requireOptions(change, 'the options of schedules.update', CHANGE_NAMES)
  const { task, cron, timezone, externalId } = change
  const after = {
    ...before,
    ...(task === undefined ? {} : { taskId: readTask(task, tasks) }),
    ...(cron === undefined ? {} : { cron: requireCron(cron, 'cron') }),
    ...(timezone === undefined ? {} : { timezone: requireTimeZone(timezone, 'timezone') }),
    ...(externalId === undefined ? {} : { externalId: requireName(externalId, 'externalId') }),
    since: now,
  }
  return inForce(before, withInstant(after))
}

/** What was due under other conditions was not missed. */
export function inForce(before: CreatedSchedule, after: CreatedSchedule): CreatedSchedule {
  const isSame = (['taskId', 'cron', 'timezone', 'isActive'] as const).every(
    (name) => after[name] === before[name],
  )
  return isSame ? { ...after, since: before.since } : after
}

/** @throws WaitpointError `ERR_TASK_NOT_FOUND`; `ERR_CANNOT_SCHEDULE` for a task that cannot take the payload. */
function readTask(task: ScheduleChange['task'], tasks: TaskRegistry): string {
  const { id, schedule } = tasks.require(idOf(task) as string)
  if (schedule !== undefined) return id
  throw new WaitpointError(
    'ERR_CANNOT_SCHEDULE',
    `Cannot create a schedule of task "${id}": give the task the option schedule, {} for one without a pattern of its own`,
  )
}

function withInstant(created: CreatedSchedule): CreatedSchedule {
  if (new Calendar(created).next(created.since) !== undefined) return created
  throw new RangeError(`Cannot use cron ${show(created.cron)}: it has no instant`)
}
