import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
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

const QUEUE: Parameter = {
  name: 'queue',
  in: 'path',
  description:
    'The name of the queue, or with type `task` the id of its task. For a slash in it `%2F` is read, also when it is encoded twice.',
}
const TYPE: Schema = { type: 'string', enum: ['id', 'task', 'custom'], default: 'id' }
const SHOWN = { 200: { description: 'The queue.', content: json(named('Queue')) } }
const TAG = 'Queues'

function changing(
  { id, path, summary }: Pick<Operation, 'id' | 'path' | 'summary'>,
  body: Schema,
): Operation {
  return {
    ...{ id, method: 'post', path: `/api/v1/queues/{queue}${path}`, tag: TAG, summary },
    allowed: 'secret key',
    parameters: [QUEUE],
    body: { required: true, content: json(body) },
    answers: SHOWN,
    refused: [422],
  }
}

const operations: readonly Operation[] = [
  {
    id: 'listQueues',
    method: 'get',
    path: '/api/v1/queues',
    tag: TAG,
    summary: 'List the queues of tasks, and those of which something is set',
    allowed: 'secret key',
    parameters: OFFSET_PARAMETERS,
    answers: { 200: { description: 'One page.', content: json(offsetPageOf(named('Queue'))) } },
    refused: [400, 422],
  },
  {
    id: 'retrieveQueue',
    method: 'get',
    path: '/api/v1/queues/{queue}',
    tag: TAG,
    summary: 'Read a queue',
    description: 'A queue of which nothing is known is an empty one.',
    allowed: 'secret key',
    parameters: [QUEUE, { name: 'type', in: 'query', description: 'How it is named.', schema: TYPE }],
    answers: SHOWN,
    refused: [400, 422],
  },
  changing(
    {
      id: 'pauseQueue',
      path: '/pause',
      summary: 'Give the runs of a queue no slots, or give them slots again',
    },
    object({ action: { type: 'string', enum: ['pause', 'resume'] } }, { type: TYPE }),
  ),
  changing(
    { id: 'setQueueLimit', path: '/concurrency/override', summary: 'Set the limit of a queue' },
    object({ concurrencyLimit: { type: 'integer', minimum: 0, maximum: MOST_QUEUE_LIMIT } }, { type: TYPE }),
  ),
  changing(
    {
      id: 'resetQueueLimit',
      path: '/concurrency/reset',
      summary: 'Give a queue the limit of its tasks again',
    },
    object({}, { type: TYPE }),
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

/** The operations on queues, as they are documented. */
export const QUEUE_OPERATIONS: OperationGroup = { operations, schemas }
