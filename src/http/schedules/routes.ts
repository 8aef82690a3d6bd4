import type { CreateScheduleOptions, TaskSchedule } from '../../api/schedule.ts'
import { timeZones } from '../../primitives/time-zones.ts'
import {
  arrayOf,
  FLAG,
  INSTANT,
  json,
  named,
  object,
  OFFSET_PARAMETERS,
  offsetPageOf,
  type OperationGroup,
  type Parameter,
  TEXT,
} from '../operation.ts'
import type { JsonObject } from '../requests/json-body.ts'
import { offsetPageJson, readOffsetPage } from '../requests/offset-page.ts'
import { readServiceBody } from '../requests/service-options.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { Refusal } from '../refusal.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

const UPDATED = ['task', 'cron', 'timezone', 'externalId', 'window']
const CREATED = [...UPDATED, 'deduplicationKey']
/** An engine counts as one environment of the service. */
const ENVIRONMENTS = [{ id: 'waitpoint', type: 'PRODUCTION' }]

const ID: Parameter = {
  name: 'id',
  in: 'path',
  description: 'The id of the schedule: `sched_…`; for one that a task declares, also the id of the task.',
}
const SHOWN = { 200: { description: 'The schedule.', content: json(named('Schedule')) } }
const TAG = 'Schedules'

function acting(action: 'activate' | 'deactivate', summary: string): Route<RouteContext> {
  return route(
    `POST /api/v1/schedules/:id/${action}`,
    {
      ...{ id: `${action}Schedule`, tag: TAG, summary, allowed: 'secret key' },
      parameters: [ID],
      answers: SHOWN,
      refused: [404, 422],
    },
    ({ engine: { schedules } }) =>
      async (c) =>
        c.json(scheduleJson(await schedules[action](c.req.param('id')))),
  )
}

const routes: readonly Route<RouteContext>[] = [
  route(
    'GET /api/v1/schedules',
    {
      id: 'listSchedules',
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
    ({ engine: { schedules } }) =>
      async (c) => {
        const page = readOffsetPage((name) => c.req.query(name))
        return c.json(offsetPageJson((await schedules.list()).map(scheduleJson), page))
      },
  ),
  route(
    'POST /api/v1/schedules',
    {
      id: 'createSchedule',
      tag: TAG,
      summary: 'Create a schedule, or change the one with its key',
      allowed: 'secret key',
      body: { required: true, content: json(named('CreateSchedule')) },
      answers: SHOWN,
      refused: [404, 422],
    },
    ({ engine: { schedules }, limits }) =>
      async (c) => {
        const body = await readServiceBody(c.req.raw, limits.otherBytes, {
          what: 'create a schedule',
          names: CREATED,
        })
        const { deduplicationKey } = body
        const options = { ...readOptions(body), deduplicationKey } as CreateScheduleOptions
        return c.json(scheduleJson(await refusingWrongInput(() => schedules.create(options))))
      },
  ),
  route(
    'GET /api/v1/schedules/:id',
    {
      id: 'retrieveSchedule',
      tag: TAG,
      summary: 'Read a schedule',
      allowed: 'secret key',
      parameters: [ID],
      answers: SHOWN,
      refused: [404],
    },
    ({ engine: { schedules } }) =>
      async (c) =>
        c.json(scheduleJson(await schedules.retrieve(c.req.param('id')))),
  ),
  route(
    'PUT /api/v1/schedules/:id',
    {
      id: 'updateSchedule',
      tag: TAG,
      summary: 'Change a schedule that was created',
      allowed: 'secret key',
      parameters: [ID],
      body: { required: true, content: json(named('UpdateSchedule')) },
      answers: SHOWN,
      refused: [404, 422],
    },
    ({ engine: { schedules }, limits }) =>
      async (c) => {
        const change = readOptions(
          await readServiceBody(c.req.raw, limits.otherBytes, { what: 'update a schedule', names: UPDATED }),
        )
        return c.json(
          scheduleJson(await refusingWrongInput(() => schedules.update(c.req.param('id'), change))),
        )
      },
  ),
  route(
    'DELETE /api/v1/schedules/:id',
    {
      id: 'deleteSchedule',
      tag: TAG,
      summary: 'Remove a schedule that was created',
      description: 'Runs that it has triggered stay.',
      allowed: 'secret key',
      parameters: [ID],
      answers: { 200: { description: 'It is removed.', content: json(object({ id: TEXT })) } },
      refused: [404, 422],
    },
    ({ engine: { schedules } }) =>
      async (c) =>
        c.json(await schedules.del(c.req.param('id'))),
  ),
  acting('activate', 'Have a schedule trigger runs again'),
  acting('deactivate', 'Have a schedule trigger no runs'),
  route(
    'GET /api/v1/timezones',
    {
      id: 'listTimezones',
      tag: TAG,
      summary: 'List the time zones that schedules may have',
      allowed: 'open',
      parameters: [
        {
          name: 'excludeUtc',
          in: 'query',
          description: '`true` leaves out UTC, which comes first otherwise.',
        },
      ],
      answers: { 200: { description: 'Their names.', content: json(object({ timezones: arrayOf(TEXT) })) } },
    },
    () => (c) => c.json({ timezones: timeZones({ excludeUtc: c.req.query('excludeUtc') === 'true' }) }),
  ),
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

/** Routes for schedules: those of tasks, and those that are created. */
export const SCHEDULE_ROUTES: RouteGroup = group(routes, (context) => context, schemas)

/** As in the service a schedule is given whole, and its time zone is UTC if there is none. The engine checks the values. */
function readOptions(body: JsonObject): Omit<CreateScheduleOptions, 'deduplicationKey'> {
  for (const name of ['task', 'cron'])
    if (typeof body[name] !== 'string') throw new Refusal(400, `Validation error: "${name}" must be a string`)
  const { task, cron, timezone = 'UTC', externalId } = body
  const given = { task, cron, timezone, ...(externalId === undefined ? {} : { externalId }) }
  return given as Omit<CreateScheduleOptions, 'deduplicationKey'>
}

function scheduleJson(schedule: TaskSchedule): object {
  const { id, type, taskId: task, isActive: active, cron, timezone, nextAt: nextRun } = schedule
  const { externalId, deduplicationKey } = schedule
  const generator = { type: 'CRON', expression: cron, description: '' }
  return {
    ...{ id, type, task, active, generator, timezone, nextRun, externalId, deduplicationKey },
    environments: ENVIRONMENTS,
  }
}
