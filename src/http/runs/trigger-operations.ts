import { MOST_PRIORITY_S } from '../../core/namespaces/new-run.ts'
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
  type Operation,
  type OperationGroup,
  type Parameter,
  REPEATED,
  type Schema,
  TEXT,
} from '../operation.ts'

const BATCH: Parameter = { name: 'id', in: 'path', description: 'The id of the batch: `batch_…`.' }
const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }

const operations: readonly Operation[] = [
  {
    id: 'triggerTask',
    method: 'post',
    path: '/api/v1/tasks/{id}/trigger',
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
  {
    id: 'announceBatch',
    method: 'post',
    path: '/api/v3/batches',
    tag: 'Triggering',
    summary: 'Announce a batch of runs',
    allowed: 'secret key',
    body: {
      required: true,
      content: json(object({ runCount: { type: 'integer', minimum: 1 } }, { idempotencyKey: TEXT })),
    },
    answers: {
      200: {
        description: 'The batch.',
        headers: ACCESS_HEADERS,
        content: json(object({ id: TEXT, runCount: COUNT, isCached: FLAG }, { idempotencyKey: TEXT })),
      },
    },
  },
  {
    id: 'sendBatchItems',
    method: 'post',
    path: '/api/v3/batches/{id}/items',
    tag: 'Triggering',
    summary: 'Send the runs of a batch',
    description:
      'One line of JSON for each run: `{ "index", "task", "payload", "options" }`, with `payload` and `options` as in a trigger. An `index` that was sent before adds nothing.',
    allowed: 'secret key',
    parameters: [BATCH],
    body: { required: true, content: { 'application/x-ndjson': TEXT } },
    answers: {
      200: {
        description: '`sealed` says whether all runs have come.',
        content: json(
          object(
            { id: TEXT, itemsAccepted: COUNT, itemsDeduplicated: COUNT, sealed: FLAG },
            { enqueuedCount: COUNT, expectedCount: COUNT },
          ),
        ),
      },
    },
    refused: [404, 422],
  },
  {
    id: 'resetIdempotencyKey',
    method: 'post',
    path: '/api/v1/idempotencyKeys/{key}/reset',
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
  {
    id: 'retrieveBatch',
    method: 'get',
    path: '/api/v2/batches/{id}',
    tag: 'Triggering',
    summary: 'Read a batch',
    description:
      'A batch is stored once all its runs have come. Before that it is known by the handler that it was announced to.',
    allowed: ['read:batch:<id>'],
    parameters: [BATCH],
    answers: { 200: { description: 'The batch.', content: json(named('Batch')) } },
    refused: [404],
  },
  {
    id: 'reservePacket',
    method: 'put',
    path: '/api/v2/packets/{name}',
    tag: 'Triggering',
    summary: 'Ask for a place for a large payload',
    description: 'The payload goes to `presignedUrl`; the trigger then has `storagePath` as its payload.',
    allowed: 'secret key',
    parameters: [{ name: 'name', in: 'path', description: 'Any name; it means nothing here.' }],
    answers: {
      200: {
        description: 'The place, for five minutes.',
        content: json(object({ presignedUrl: TEXT, storagePath: TEXT })),
      },
    },
  },
  {
    id: 'putPacket',
    method: 'put',
    path: '/api/v2/packets/{path}/content/{key}',
    tag: 'Triggering',
    summary: 'Send a large payload ahead',
    allowed: 'address',
    parameters: [
      { name: 'path', in: 'path', description: 'The place.' },
      { name: 'key', in: 'path', description: 'Proves that the engine gave the address out.' },
    ],
    body: { required: true, content: { '*/*': TEXT } },
    answers: { 200: { description: 'Kept.', content: json(object({ success: { const: true } })) } },
    refused: [404],
  },
]

const schemas: Readonly<Record<string, Schema>> = {
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
        enum: ['application/json', 'application/super+json', 'text/plain', 'application/store'],
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

/** The operations that trigger runs over HTTP, as they are documented. */
export const TRIGGER_OPERATIONS: OperationGroup = { operations, schemas }
