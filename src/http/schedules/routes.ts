import type { Hono } from 'hono'
import type { CreateScheduleOptions, TaskSchedule } from '../../api/schedule.ts'
import { timeZones } from '../../primitives/time-zones.ts'
import type { Caller } from '../access/caller.ts'
import { type JsonObject, readJsonObject } from '../requests/json-body.ts'
import { offsetPageJson, readOffsetPage } from '../requests/offset-page.ts'
import { checkServiceOptions } from '../requests/service-options.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

const UPDATED = ['task', 'cron', 'timezone', 'externalId', 'window']
const CREATED = [...UPDATED, 'deduplicationKey']
/** An engine counts as one environment of the service. */
const ENVIRONMENTS = [{ id: 'waitpoint', type: 'PRODUCTION' }]

/** Routes for schedules: those of tasks, and those that are created. */
export function addScheduleRoutes(app: Hono, context: RouteContext): void {
  const { engine, gate, limits } = context
  const { schedules } = engine

  const enter = async (request: Request): Promise<Caller> => {
    const caller = await gate.enter(request)
    caller.requireSecretKey()
    return caller
  }
  const readBody = async (request: Request, what: string, names: readonly string[]): Promise<JsonObject> => {
    await enter(request)
    const body = await readJsonObject(request, limits.otherBytes)
    checkServiceOptions(body, { names, what, instead: `use ${names.join(', ')}` })
    return body
  }

  addRoute(app, '/api/v1/schedules', {
    GET: async (c) => {
      await enter(c.req.raw)
      const page = readOffsetPage((name) => c.req.query(name))
      return c.json(offsetPageJson((await schedules.list()).map(scheduleJson), page))
    },
    POST: async (c) => {
      const body = await readBody(c.req.raw, 'create a schedule', CREATED)
      const { deduplicationKey } = body
      const options = { ...readOptions(body), deduplicationKey } as CreateScheduleOptions
      return c.json(scheduleJson(await refusingWrongInput(() => schedules.create(options))))
    },
  })

  addRoute(app, '/api/v1/schedules/:id', {
    GET: async (c) => {
      await enter(c.req.raw)
      return c.json(scheduleJson(await schedules.retrieve(c.req.param('id'))))
    },
    PUT: async (c) => {
      const change = readOptions(await readBody(c.req.raw, 'update a schedule', UPDATED))
      return c.json(scheduleJson(await refusingWrongInput(() => schedules.update(c.req.param('id'), change))))
    },
    DELETE: async (c) => {
      await enter(c.req.raw)
      return c.json(await schedules.del(c.req.param('id')))
    },
  })

  for (const action of ['activate', 'deactivate'] as const)
    addRoute(app, `/api/v1/schedules/:id/${action}`, {
      POST: async (c) => {
        await enter(c.req.raw)
        return c.json(scheduleJson(await schedules[action](c.req.param('id'))))
      },
    })

  addRoute(app, '/api/v1/timezones', {
    GET: (c) => c.json({ timezones: timeZones({ excludeUtc: c.req.query('excludeUtc') === 'true' }) }),
  })
}

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
