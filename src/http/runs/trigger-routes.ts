import type { RunHandle } from '../../api/run.ts'
import { MOST_PRIORITY_S } from '../../api/trigger-options.ts'
import { TRIGGER_TASK_ADDRESS } from '../../hosted/addresses.ts'
import { show } from '../../primitives/require.ts'
import type { Caller } from '../access/caller.ts'
import { accessTokenHeaders } from '../access/token.ts'
import {
  ACCESS_HEADERS,
  ANYTHING,
  COUNT,
  FLAG,
  INSTANT,
  json,
  JSON_OBJECT,
  arrayOf,
  named,
  object,
  type OperationGroup,
  REPEATED,
  type Schema,
  TEXT,
} from '../operation.ts'
import { Refusal } from '../refusal.ts'
import { readJsonObject } from '../requests/json-body.ts'
import { CLIENT_VERSION, REQUEST_NAME } from '../../hosted/headers.ts'
import { KEPT_ELSEWHERE, NOTED_JSON } from '../../hosted/packets.ts'
import { RepeatedRequests } from '../requests/repeated.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import { mayRead } from './access.ts'
import { BATCH_ROUTES } from './batch-routes.ts'
import { PACKET_ROUTES } from './packet-routes.ts'
import { PacketStore } from './packet-store.ts'
import { type TriggerParts, triggerSent } from './sent.ts'

const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }

const routes: readonly Route<TriggerParts>[] = [
  route(
    TRIGGER_TASK_ADDRESS,
    {
      id: 'triggerTask',
      tag: 'Triggering',
      summary: 'Trigger a task',
      description:
        'An access token for one use is used up by a run that is stored. `isCached` says that the run was there before: the idempotency key named it, or the trigger has put it off (`debounce`). There is no access token of such a run, unless the credential may read it.',
      allowed: ['trigger:tasks:<id>'],
      anyOrigin: true,
      parameters: [{ name: 'id', in: 'path', description: 'The id of the task.' }, REPEATED],
      body: { required: true, content: json(named('Trigger')) },
      answers: {
        200: {
          description: 'The run.',
          headers: ACCESS_HEADERS,
          content: json(object({ id: TEXT, isCached: FLAG }, { publicAccessToken: TEXT })),
        },
      },
      refused: [404, 422],
    },
    ({ inside, limits, turns, trigger }) => {
      const repeated = new RepeatedRequests<RunHandle<unknown>>()
      const whose = ({ credential }: Caller, taskId: string): string => `${credential} ${taskId}`
      return {
        isRepetition: (c, caller) =>
          repeated.has(whose(caller, c.req.param('id')), c.req.header(REQUEST_NAME)),
        answer: async (c, caller) => {
          const taskId = c.req.param('id')
          const isPublished = c.req.header(CLIENT_VERSION) !== undefined
          const run = await repeated.serve(whose(caller, taskId), c.req.header(REQUEST_NAME), async () =>
            trigger(caller, {
              taskId,
              body: await readJsonObject(c.req.raw, limits.triggerBytes, turns),
              isPublished,
            }),
          )
          const { id, isCached } = run
          // The run of an idempotency key, or of a debounce key, may be a stranger's: triggering again does not include reading it.
          if (isCached && !(await mayRead({ inside }, caller, id))) return c.json({ id, isCached })
          const { publicAccessToken } = run
          return c.json({ id, isCached, publicAccessToken }, 200, accessTokenHeaders(publicAccessToken))
        },
      }
    },
  ),
  ...BATCH_ROUTES,
  route(
    'POST /api/v1/idempotencyKeys/:key/reset',
    {
      id: 'resetIdempotencyKey',
      tag: 'Triggering',
      summary: 'Free the idempotency key of a task',
      description:
        'The next trigger with the key stores a new run. The run that had it goes on as it is. 404 if no run has the key.',
      allowed: 'secret key',
      parameters: [{ name: 'key', in: 'path', description: 'The key, as a trigger sends it.' }],
      body: { required: true, content: json(object({ taskIdentifier: TEXT })) },
      answers: { 200: { description: '`id` is the key.', content: json(object({ id: TEXT })) } },
      refused: [404, 422],
    },
    ({ engine, limits }) =>
      async (c) => {
        const id = c.req.param('key')
        const { taskIdentifier } = await readJsonObject(c.req.raw, limits.otherBytes)
        if (typeof taskIdentifier !== 'string')
          throw new Refusal(
            400,
            `Validation error: "taskIdentifier" ${show(taskIdentifier)} must be a string`,
          )
        const runId = await refusingWrongInput(() => engine.runs.resetIdempotencyKey(taskIdentifier, id))
        if (runId === undefined)
          throw new Refusal(404, `No run of task "${taskIdentifier}" has this idempotency key`)
        return c.json({ id })
      },
  ),
  ...PACKET_ROUTES,
]

const schemas: OperationGroup['schemas'] = {
  Trigger: {
    ...(object({}, { payload: ANYTHING, options: named('TriggerOptions') }) as object),
    description:
      'Without `options.payloadType` the payload is any JSON value; with it, it is the text of one.',
  },
  TriggerOptions: {
    description:
      'Other options of the hosted service are taken where they change nothing, and refused with 400 where they would.',
    type: 'object',
    properties: {
      delay: DURATION,
      debounce: object(
        { key: TEXT, delay: DURATION },
        { mode: { type: 'string', enum: ['leading', 'trailing'] }, maxDelay: DURATION },
      ),
      ttl: DURATION,
      tags: LABELS,
      metadata: JSON_OBJECT,
      maxAttempts: { type: 'integer', minimum: 1 },
      maxDuration: DURATION,
      queue: object({ name: TEXT }),
      concurrencyKey: TEXT,
      priority: { type: 'number', minimum: -MOST_PRIORITY_S, maximum: MOST_PRIORITY_S },
      idempotencyKey: TEXT,
      idempotencyKeyTTL: DURATION,
      freeKeyOnFailure: FLAG,
      payloadType: {
        type: 'string',
        enum: ['application/json', NOTED_JSON, 'text/plain', KEPT_ELSEWHERE],
      },
    },
    additionalProperties: true,
  },
  Batch: object(
    {
      id: TEXT,
      status: { type: 'string', enum: ['PENDING', 'PROCESSING', 'COMPLETED'] },
      createdAt: INSTANT,
      updatedAt: INSTANT,
      runCount: COUNT,
      runs: arrayOf(TEXT),
      processing: object({ errors: arrayOf(ANYTHING) }),
    },
    { idempotencyKey: TEXT },
  ),
}

/** Routes that trigger runs: one run, a batch, and large payloads ahead of their runs. */
export const TRIGGER_ROUTES: RouteGroup = group(
  routes,
  (context) => {
    const packets = new PacketStore(context.inside.host, context.limits)
    return { ...context, packets, trigger: triggerSent(context, packets) }
  },
  schemas,
)
