import type { Hono } from 'hono'
import type { RunHandle } from '../../api/run.ts'
import { show } from '../../primitives/require.ts'
import type { Caller } from '../access/caller.ts'
import { accessTokenHeaders } from '../access/token.ts'
import { mayRead } from './access.ts'
import { addBatchRoutes } from './batch-routes.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { addPacketRoutes } from './packet-routes.ts'
import { PacketStore } from './packet-store.ts'
import { RepeatedRequests, REQUEST_NAME } from '../requests/repeated.ts'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { type TriggerSent, triggerSent } from './sent.ts'

/** Routes that trigger runs: one run, a batch, and large payloads ahead of their runs. */
export function addTriggerRoutes(app: Hono, context: RouteContext): void {
  const packets = new PacketStore(context.kernel.host, context.limits)
  const trigger = triggerSent(context, packets)
  addTrigger(app, context, trigger)
  addKeyReset(app, context)
  addBatchRoutes(app, context, trigger)
  addPacketRoutes(app, context, packets)
}

function addTrigger(app: Hono, { gate, limits, kernel, turns }: RouteContext, trigger: TriggerSent): void {
  const repeated = new RepeatedRequests<RunHandle<unknown>>()

  addRoute(app, '/api/v1/tasks/:id/trigger', {
    anyOrigin: true,
    POST: async (c) => {
      const taskId = c.req.param('id')
      const name = c.req.header(REQUEST_NAME)
      const whose = ({ credential }: Caller): string => `${credential} ${taskId}`
      const caller = await gate.enter(c.req.raw, (each) => repeated.has(whose(each), name))
      caller.require({ action: 'trigger', type: 'tasks', id: taskId })
      const isPublished = c.req.header('trigger-version') !== undefined
      const run = await repeated.serve(whose(caller), name, async () =>
        trigger(caller, {
          taskId,
          body: await readJsonObject(c.req.raw, limits.triggerBytes, turns),
          isPublished,
        }),
      )
      const { id, isCached } = run
      // The run of an idempotency key, or of a debounce key, may be a stranger's: triggering again does not include reading it.
      if (isCached && !(await mayRead({ kernel }, caller, id))) return c.json({ id, isCached })
      const { publicAccessToken } = run
      return c.json({ id, isCached, publicAccessToken }, 200, accessTokenHeaders(publicAccessToken))
    },
  })
}

function addKeyReset(app: Hono, { engine, gate, limits }: RouteContext): void {
  addRoute(app, '/api/v1/idempotencyKeys/:key/reset', {
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      const id = c.req.param('key')
      const { taskIdentifier } = await readJsonObject(c.req.raw, limits.otherBytes)
      if (typeof taskIdentifier !== 'string')
        throw new Refusal(400, `Validation error: "taskIdentifier" ${show(taskIdentifier)} must be a string`)
      const runId = await refusingWrongInput(() => engine.runs.resetIdempotencyKey(taskIdentifier, id))
      if (runId === undefined)
        throw new Refusal(404, `No run of task "${taskIdentifier}" has this idempotency key`)
      return c.json({ id })
    },
  })
}
