import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import { queueItem, queueNameOf } from '../../hosted/queue-item.ts'
import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
import {
  LIST_QUEUES_ADDRESS,
  PAUSE_QUEUE_ADDRESS,
  RESET_QUEUE_LIMIT_ADDRESS,
  RETRIEVE_QUEUE_ADDRESS,
  SET_QUEUE_LIMIT_ADDRESS,
} from '../../hosted/addresses.ts'
import { show } from '../../primitives/require.ts'
import {
  COUNT,
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
  type Schema,
  TEXT,
} from '../operation.ts'
import { offsetPageJson, readOffsetPage } from '../requests/offset-page.ts'
import { readServiceBody } from '../requests/service-options.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { Refusal } from '../refusal.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

const QUEUE: Parameter = {
  name: 'queue',
  in: 'path',
  description:
    'The name of the queue, or with type `task` the id of its task. For a slash in it `%2F` is read, also when it is encoded twice.',
}
const TYPE: Schema = { type: 'string', enum: ['id', 'task', 'custom'], default: 'id' }
const SHOWN = { 200: { description: 'The queue.', content: json(named('Queue')) } }
const TAG = 'Queues'

/** What is said of a change of a queue. */
function changing(id: string, summary: string, body: Schema): Omit<Operation, 'at'> {
  return {
    ...{ id, tag: TAG, summary },
    allowed: 'secret key',
    parameters: [QUEUE],
    body: { required: true, content: json(body) },
    answers: SHOWN,
    refused: [422],
  }
}

const routes: readonly Route<RouteContext>[] = [
  route(
    LIST_QUEUES_ADDRESS,
    {
      id: 'listQueues',
      tag: TAG,
      summary: 'List the queues of tasks, and those of which something is set',
      allowed: 'secret key',
      parameters: OFFSET_PARAMETERS,
      answers: { 200: { description: 'One page.', content: json(offsetPageOf(named('Queue'))) } },
      refused: [400, 422],
    },
    ({ engine }) =>
      async (c) => {
        const page = readOffsetPage((name) => c.req.query(name))
        return c.json(offsetPageJson((await engine.queues()).map(queueJson), page))
      },
  ),
  route(
    RETRIEVE_QUEUE_ADDRESS,
    {
      id: 'retrieveQueue',
      tag: TAG,
      summary: 'Read a queue',
      description: 'A queue of which nothing is known is an empty one.',
      allowed: 'secret key',
      parameters: [QUEUE, { name: 'type', in: 'query', description: 'How it is named.', schema: TYPE }],
      answers: SHOWN,
      refused: [400, 422],
    },
    (context) => async (c) => {
      const asked = { name: c.req.param('queue'), type: c.req.query('type') }
      return c.json(await queueOf(context, asked, (queue) => queue.retrieve()))
    },
  ),
  route(
    PAUSE_QUEUE_ADDRESS,
    changing(
      'pauseQueue',
      'Give the runs of a queue no slots, or give them slots again',
      object({ action: { type: 'string', enum: ['pause', 'resume'] } }, { type: TYPE }),
    ),
    (context) => async (c) => {
      const { type, action } = await readServiceBody(c.req.raw, context.limits.otherBytes, {
        names: ['type', 'action'],
        what: 'pause a queue',
      })
      if (action !== 'pause' && action !== 'resume')
        throw new Refusal(400, `Validation error: "action" ${show(action)} must be "pause" or "resume"`)
      return c.json(await queueOf(context, { name: c.req.param('queue'), type }, (queue) => queue[action]()))
    },
  ),
  route(
    SET_QUEUE_LIMIT_ADDRESS,
    changing(
      'setQueueLimit',
      'Set the limit of a queue',
      object(
        { concurrencyLimit: { type: 'integer', minimum: 0, maximum: MOST_QUEUE_LIMIT } },
        { type: TYPE },
      ),
    ),
    (context) => async (c) => {
      const { type, concurrencyLimit } = await readServiceBody(c.req.raw, context.limits.otherBytes, {
        names: ['type', 'concurrencyLimit'],
        what: 'set the limit of a queue',
      })
      const limit = concurrencyLimit as number // The engine checks it.
      return c.json(
        await queueOf(context, { name: c.req.param('queue'), type }, (queue) => queue.setLimit(limit)),
      )
    },
  ),
  route(
    RESET_QUEUE_LIMIT_ADDRESS,
    changing('resetQueueLimit', 'Give a queue the limit of its tasks again', object({}, { type: TYPE })),
    (context) => async (c) => {
      const { type } = await readServiceBody(c.req.raw, context.limits.otherBytes, {
        names: ['type'],
        what: 'reset the limit of a queue',
      })
      return c.json(
        await queueOf(context, { name: c.req.param('queue'), type }, (queue) => queue.resetLimit()),
      )
    },
  ),
]

function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}

const LIMIT = orNull(COUNT)

const schemas: OperationGroup['schemas'] = {
  Queue: object({
    id: TEXT,
    name: TEXT,
    type: { type: 'string', enum: ['task', 'custom'] },
    running: COUNT,
    queued: COUNT,
    isMore: { ...(FLAG as object), description: 'There may be more than `queued`.' },
    waitingForSlot: {
      ...(COUNT as object),
      description: 'Runs that have waited, could go on, and were refused a slot of the queue.',
    },
    paused: FLAG,
    concurrencyLimit: LIMIT,
    version: { const: 'V1' },
    concurrency: object({
      current: LIMIT,
      base: LIMIT,
      override: LIMIT,
      overriddenAt: orNull(INSTANT),
      overriddenBy: { type: 'null' },
    }),
  }),
}

/** Routes for queues: look at them, pause them, set their limits. */
export const QUEUE_ROUTES: RouteGroup = group(routes, (context) => context, schemas)

async function queueOf(
  { engine }: RouteContext,
  { name, type }: { readonly name: string; readonly type: unknown },
  call: (queue: QueueHandle) => Promise<RetrievedQueue>,
): Promise<object> {
  return queueJson(await refusingWrongInput(async () => call(engine.queue(nameOf(name, type)))))
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
