import {
  arrayOf,
  FLAG,
  INSTANT,
  json,
  named,
  object,
  OFFSET_PARAMETERS,
  offsetPageOf,
  type Operation,
  type OperationGroup,
  type Parameter,
  TEXT,
} from '../operation.ts'

const ID: Parameter = {
  name: 'id',
  in: 'path',
  description: 'The id of the schedule: `sched_…`; for one that a task declares, also the id of the task.',
}
const SHOWN = { 200: { description: 'The schedule.', content: json(named('Schedule')) } }
const TAG = 'Schedules'

function acting(action: 'activate' | 'deactivate', summary: string): Operation {
  return {
    id: `${action}Schedule`,
    method: 'post',
    path: `/api/v1/schedules/{id}/${action}`,
    tag: TAG,
    summary,
    allowed: 'secret key',
    parameters: [ID],
    answers: SHOWN,
    refused: [404, 422],
  }
}

const operations: readonly Operation[] = [
  {
    id: 'listSchedules',
    method: 'get',
    path: '/api/v1/schedules',
    tag: TAG,
    summary: 'List the schedules of tasks, and those that were created',
    allowed: 'secret key',
    parameters: OFFSET_PARAMETERS,
    answers: {
      200: {
        description: 'One page.',
        content: json(offsetPageOf(named('Schedule'))),
      },
    },
    refused: [400],
  },
  {
    id: 'createSchedule',
    method: 'post',
    path: '/api/v1/schedules',
    tag: TAG,
    summary: 'Create a schedule, or change the one with its key',
    allowed: 'secret key',
    body: { required: true, content: json(named('CreateSchedule')) },
    answers: SHOWN,
    refused: [404, 422],
  },
  {
    id: 'retrieveSchedule',
    method: 'get',
    path: '/api/v1/schedules/{id}',
    tag: TAG,
    summary: 'Read a schedule',
    allowed: 'secret key',
    parameters: [ID],
    answers: SHOWN,
    refused: [404],
  },
  {
    id: 'updateSchedule',
    method: 'put',
    path: '/api/v1/schedules/{id}',
    tag: TAG,
    summary: 'Change a schedule that was created',
    allowed: 'secret key',
    parameters: [ID],
    body: { required: true, content: json(named('UpdateSchedule')) },
    answers: SHOWN,
    refused: [404, 422],
  },
  {
    id: 'deleteSchedule',
    method: 'delete',
    path: '/api/v1/schedules/{id}',
    tag: TAG,
    summary: 'Remove a schedule that was created',
    description: 'Runs that it has triggered stay.',
    allowed: 'secret key',
    parameters: [ID],
    answers: { 200: { description: 'It is removed.', content: json(object({ id: TEXT })) } },
    refused: [404, 422],
  },
  acting('activate', 'Have a schedule trigger runs again'),
  acting('deactivate', 'Have a schedule trigger no runs'),
  {
    id: 'listTimezones',
    method: 'get',
    path: '/api/v1/timezones',
    tag: TAG,
    summary: 'List the time zones that schedules may have',
    allowed: 'open',
    parameters: [
      { name: 'excludeUtc', in: 'query', description: '`true` leaves out UTC, which comes first otherwise.' },
    ],
    answers: { 200: { description: 'Their names.', content: json(object({ timezones: arrayOf(TEXT) })) } },
  },
]

const GIVEN = { timezone: TEXT, externalId: TEXT, window: TEXT }

const schemas: OperationGroup['schemas'] = {
  CreateSchedule: object({ task: TEXT, cron: TEXT, deduplicationKey: TEXT }, GIVEN),
  UpdateSchedule: object({ task: TEXT, cron: TEXT }, GIVEN),
  Schedule: object(
    {
      id: TEXT,
      type: { type: 'string', enum: ['DECLARATIVE', 'IMPERATIVE'] },
      task: TEXT,
      active: FLAG,
      generator: object({ type: { const: 'CRON' }, expression: TEXT, description: TEXT }),
      timezone: TEXT,
      environments: arrayOf(object({ id: TEXT, type: TEXT })),
    },
    { nextRun: INSTANT, externalId: TEXT, deduplicationKey: TEXT },
  ),
}

/** The operations on schedules, as they are documented. */
export const SCHEDULE_OPERATIONS: OperationGroup = { operations, schemas }
