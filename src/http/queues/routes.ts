import type { Hono } from 'hono'
import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import { queueItem, queueNameOf } from '../../api/queue-item.ts'
import { show } from '../../primitives/require.ts'
import { type JsonObject, readJsonObject } from '../requests/json-body.ts'
import { offsetPageJson, readOffsetPage } from '../requests/offset-page.ts'
import { checkServiceOptions } from '../requests/service-options.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { Refusal } from '../refusal.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

const QUEUE = '/api/v1/queues/:queue'

/** Routes for queues: look at them, pause them, set their limits. */
export function addQueueRoutes(app: Hono, { engine, gate, limits }: RouteContext): void {
  const enter = async (request: Request): Promise<void> => {
    const caller = await gate.enter(request)
    caller.requireSecretKey()
  }
  const bodyOf = async (request: Request, names: readonly string[], what: string): Promise<JsonObject> => {
    await enter(request)
    const body = await readJsonObject(request, limits.otherBytes)
    checkServiceOptions(body, { names, what, instead: `use ${names.join(', ')}` })
    return body
  }
  const answerOf = async (
    param: string,
    type: unknown,
    call: (queue: QueueHandle) => Promise<RetrievedQueue>,
  ): Promise<object> =>
    queueJson(await refusingWrongInput(async () => call(engine.queue(nameOf(param, type)))))

  addRoute(app, '/api/v1/queues', {
    GET: async (c) => {
      await enter(c.req.raw)
      const page = readOffsetPage((name) => c.req.query(name))
      return c.json(offsetPageJson((await engine.queues()).map(queueJson), page))
    },
  })

  addRoute(app, QUEUE, {
    GET: async (c) => {
      await enter(c.req.raw)
      return c.json(await answerOf(c.req.param('queue'), c.req.query('type'), (queue) => queue.retrieve()))
    },
  })

  addRoute(app, `${QUEUE}/pause`, {
    POST: async (c) => {
      const { type, action } = await bodyOf(c.req.raw, ['type', 'action'], 'pause a queue')
      if (action !== 'pause' && action !== 'resume')
        throw new Refusal(400, `Validation error: "action" ${show(action)} must be "pause" or "resume"`)
      return c.json(await answerOf(c.req.param('queue'), type, (queue) => queue[action]()))
    },
  })

  addRoute(app, `${QUEUE}/concurrency/override`, {
    POST: async (c) => {
      const names = ['type', 'concurrencyLimit']
      const { type, concurrencyLimit } = await bodyOf(c.req.raw, names, 'set the limit of a queue')
      const limit = concurrencyLimit as number // The engine checks it.
      return c.json(await answerOf(c.req.param('queue'), type, (queue) => queue.setLimit(limit)))
    },
  })

  addRoute(app, `${QUEUE}/concurrency/reset`, {
    POST: async (c) => {
      const { type } = await bodyOf(c.req.raw, ['type'], 'reset the limit of a queue')
      return c.json(await answerOf(c.req.param('queue'), type, (queue) => queue.resetLimit()))
    },
  })
}

/** The name of the queue of a path. Clients write `%2F` for a slash before they encode the name, as proxies may decode it once. */
function nameOf(param: string, type: unknown = 'id'): string {
  const name = param.replaceAll('%2F', '/')
  if (type === 'id') return name
  if (type === 'task' || type === 'custom') return queueNameOf({ type, name })
  throw new Refusal(400, `Validation error: "type" ${show(type)} must be "id", "task" or "custom"`)
}

/** As in the service, and what else the engine says of it. */
function queueJson(queue: RetrievedQueue): object {
  const { isMore, waitingForSlot } = queue
  return { ...queueItem(queue), isMore, waitingForSlot }
}
