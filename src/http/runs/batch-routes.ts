import type { RunStore } from '../../contract/storage.ts'
import { isFinal } from '../../contract/run-states.ts'
import { show } from '../../primitives/require.ts'
import { accessTokenHeaders } from '../access/token.ts'
import type { Batch } from '../batches/batch.ts'
import { type JsonObject, readJsonObject, requireJsonObject } from '../requests/json-body.ts'
import { checkLabels } from '../requests/labels.ts'
import type { Limits } from '../limits.ts'
import { readLines } from '../requests/ndjson-body.ts'
import { Refusal } from '../refusal.ts'
import { type Route, route } from '../route.ts'
import { ACCESS_HEADERS, COUNT, FLAG, json, named, object, type Parameter, TEXT } from '../operation.ts'
import { checkServiceOptions, type ReadOptions } from '../requests/service-options.ts'
import type { SentRun, TriggerParts } from './sent.ts'
import { CLIENT_VERSION } from '../../hosted/headers.ts'

const ANNOUNCED: ReadOptions = {
  names: ['runCount', 'idempotencyKey'],
  what: 'announce a batch',
  instead: 'use runCount and idempotencyKey',
}

const BATCH: Parameter = { name: 'id', in: 'path', description: 'The id of the batch: `batch_…`.' }

/** Routes for batches: a client announces a batch, then sends its runs, one JSON line for each. */
export const BATCH_ROUTES: readonly Route<TriggerParts>[] = [
  route(
    'POST /api/v3/batches',
    {
      id: 'announceBatch',
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
    ({ limits, inside: { credentials }, batches }) =>
      async (c, { credential }) => {
        const asked = readAnnouncement(await readJsonObject(c.req.raw, limits.otherBytes), limits)
        const { batch, isCached } = batches.announce({ ...asked, credential })
        const { id, runCount, idempotencyKey, createdAt: from } = batch
        const token = credentials.publicAccessToken([`read:batch:${id}`], { from })
        return c.json({ id, runCount, isCached, idempotencyKey }, 200, accessTokenHeaders(token))
      },
  ),
  route(
    'POST /api/v3/batches/:id/items',
    {
      id: 'sendBatchItems',
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
    ({ limits, inside: { news }, batches, turns, trigger }) =>
      async (c, caller) => {
        const batch = await batches.require(c.req.param('id'))
        let [accepted, known] = [0, 0]
        const isPublished = c.req.header(CLIENT_VERSION) !== undefined
        for await (const lines of readLines(c.req.raw, limits.triggerBytes, turns)) {
          for (const line of lines) {
            const { place, run } = readItem(line, batch)
            const added = await batch.add(
              place,
              async () => (await trigger(caller, { ...run, isPublished, batchId: batch.id })).id,
            )
            if (added === undefined) known += 1
            else {
              accepted += 1
              // Subscribers of the batch could not see that the run belongs to it when the run was stored.
              news.runChanged(added)
            }
          }
        }
        await batches.keep(batch)
        const { id, isSealed: sealed, size, runCount } = batch
        const missing = sealed ? {} : { enqueuedCount: size, expectedCount: runCount }
        return c.json({ id, itemsAccepted: accepted, itemsDeduplicated: known, sealed, ...missing })
      },
  ),
  route(
    'GET /api/v2/batches/:id',
    {
      id: 'retrieveBatch',
      tag: 'Triggering',
      summary: 'Read a batch',
      description:
        'A batch is stored once all its runs have come. Before that it is known by the handler that it was announced to.',
      allowed: ['read:batch:<id>'],
      parameters: [BATCH],
      answers: { 200: { description: 'The batch.', content: json(named('Batch')) } },
      refused: [404],
    },
    ({ inside, batches }) =>
      async (c) =>
        c.json(await batchJson(await batches.require(c.req.param('id')), inside.host.storage.runs)),
  ),
]

function readAnnouncement(
  body: JsonObject,
  limits: Limits,
): { readonly runCount: number; readonly idempotencyKey: string | undefined } {
  checkServiceOptions(body, ANNOUNCED)
  const { runCount, idempotencyKey } = body
  if (typeof runCount !== 'number' || !Number.isInteger(runCount) || runCount < 1)
    throw new Refusal(400, 'Validation error: "runCount" must be a whole number from 1')
  if (runCount > limits.batchRuns)
    throw new Refusal(413, `Batch too large: at most ${limits.batchRuns} runs are allowed, not ${runCount}`)
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || idempotencyKey === ''))
    throw new Refusal(400, 'Validation error: "idempotencyKey" must be a string')
  checkLabels({ idempotencyKey }, limits, 'Batches')
  return { runCount, idempotencyKey }
}

interface SentItem {
  readonly place: number
  readonly run: Pick<SentRun, 'taskId' | 'body'>
}

function readItem(line: unknown, { runCount }: Batch): SentItem {
  const body = requireJsonObject(line, 'an item')
  const { index, task } = body
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= runCount)
    throw new Refusal(400, `Validation error: the index ${show(index)} is not one of ${runCount} runs`)
  if (typeof task !== 'string') throw new Refusal(400, 'Validation error: "task" must be the id of a task')
  return { place: index, run: { taskId: task, body } }
}

async function batchJson(batch: Batch, runs: RunStore): Promise<object> {
  const { id, idempotencyKey, runCount, isSealed } = batch
  const runIds = await batch.runIds()
  const records = await Promise.all(runIds.map(async (runId) => runs.get(runId)))
  // A run that is no longer kept ended long ago.
  const haveEnded = records.every((record) => record === undefined || isFinal(record.status))
  const status = !isSealed ? 'PENDING' : haveEnded ? 'COMPLETED' : 'PROCESSING'
  const createdAt = new Date(batch.createdAt)
  // A run that cannot be triggered is refused when it is sent, so later there are no failures to list.
  const processing = { errors: [] }
  return { id, status, idempotencyKey, createdAt, updatedAt: createdAt, runCount, runs: runIds, processing }
}
