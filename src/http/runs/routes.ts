import type { RescheduleOptions, Run, RunHandle } from '../../api/run.ts'
import {
  CANCEL_RUN_ADDRESS,
  CONTINUE_RUN_ADDRESS,
  EXPLAIN_RUN_ADDRESS,
  LIST_RUNS_ADDRESS,
  REPLAY_RUN_ADDRESS,
  RESCHEDULE_RUN_ADDRESS,
  RETRIEVE_RUN_ADDRESS,
} from '../../hosted/addresses.ts'
import type { RunRecord } from '../../contract/records.ts'
import { sizeOfRun } from '../../core/inside.ts'
import type { Caller } from '../access/caller.ts'
import {
  COUNT,
  json,
  JSON_OBJECT,
  LIST_PARAMETERS,
  arrayOf,
  named,
  object,
  pageOf,
  type Parameter,
  REPEATED,
  type Schema,
  TEXT,
} from '../operation.ts'
import { ROOT_FILTER, RUN_TAG_FILTER, STATUS_FILTER, TASK_FILTER } from '../../hosted/list-parameters.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, parseJson, readBody } from '../requests/body.ts'
import { readJsonObject, requireJsonObject } from '../requests/json-body.ts'
import { API_VERSION_HEADER, REQUEST_NAME } from '../../hosted/headers.ts'
import { JSON_TYPE } from '../requests/content-type.ts'
import { packetJson } from '../requests/packet-text.ts'
import { RepeatedRequests } from '../requests/repeated.ts'
import { checkServiceOptions, type ReadOptions } from '../requests/service-options.ts'
import { decodeText } from '../requests/text.ts'
import { refusingWrongInput } from '../requests/wrong-input.ts'
import { pageBody } from '../page-body.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { plausibleRunId, readAccesses, retrieveRun } from './access.ts'
import { RunChanges } from './changes.ts'
import { retrievedRunText, runJson, runResultJson, shownTexts } from './json.ts'
import { readMetadataChange } from './metadata-change.ts'
import { readRunQuery } from './query.ts'
import { RUN_SCHEMAS } from './schemas.ts'
import { shownRun } from './shown.ts'

interface RunParts extends RouteContext {
  readonly changes: RunChanges
}

const RUN: Parameter = { name: 'id', in: 'path', description: 'The id of the run: `run_…`.' }
const READ_RUN = ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>']
const WRITE_RUN = ['write:runs:<id>']
const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }
const METADATA = { description: 'The metadata.', content: json(object({ metadata: JSON_OBJECT })) }
const RETRIEVED = { description: 'The run.', content: json(named('RetrievedRun')) }

const reading: readonly Route<RunParts>[] = [
  route(
    RETRIEVE_RUN_ADDRESS,
    {
      id: 'retrieveRun',
      tag: 'Runs',
      summary: 'Read a run',
      allowed: READ_RUN,
      parameters: [RUN],
      answers: { 200: RETRIEVED },
      refused: [404],
    },
    (context) => async (c, caller) => {
      const run = await retrieveRun(context, { caller, id: c.req.param('id') })
      return c.body(retrievedRunText(run, caller, c.req.header(API_VERSION_HEADER)), 200, JSON_TYPE)
    },
  ),
  route(
    LIST_RUNS_ADDRESS,
    {
      id: 'listRuns',
      tag: 'Runs',
      summary: 'List runs',
      description:
        'Newest first, without payloads, outputs and errors. A list by tasks or by tags may also be read with the scopes of all of these. A `filter` or `page` that does not exist is refused.',
      allowed: ['read:runs', 'read:tasks:<task>', 'read:tags:<tag>'],
      parameters: [
        {
          name: STATUS_FILTER,
          in: 'query',
          description:
            'Any of these statuses. Statuses of the hosted service that no run has here match none.',
          isList: true,
        },
        {
          name: TASK_FILTER,
          in: 'query',
          description: 'Runs of any of these tasks.',
          isList: true,
        },
        {
          name: ROOT_FILTER,
          in: 'query',
          description: 'The runs below this one, which has no parent, however deep.',
        },
        { name: RUN_TAG_FILTER, in: 'query', description: 'Runs with any of these tags.', isList: true },
        {
          name: 'filter[isTest]',
          in: 'query',
          description: '`true` matches none: there are no test runs.',
        },
        ...LIST_PARAMETERS,
      ],
      answers: { 200: { description: 'A page of runs.', content: json(pageOf(named('Run'))) } },
      refused: [400],
    },
    ({ inside, limits, turns }) =>
      async (c, caller) => {
        const params = readRunQuery(c.req.raw, { caller, limits })
        if (params === undefined) return c.json({ data: [], pagination: {} })
        const { data, pagination } = await refusingWrongInput(() => inside.runs.list(params))
        const apiVersion = c.req.header(API_VERSION_HEADER)
        const text = (run: Run): string => JSON.stringify(runJson(shownRun(run, caller), apiVersion))
        return c.body(await pageBody({ data, pagination, text }, turns), 200, JSON_TYPE)
      },
  ),
  route(
    'GET /api/v1/runs/:id/result',
    {
      id: 'runResult',
      tag: 'Runs',
      summary: 'Read how a run ended',
      description: '404 also while the run has not ended.',
      allowed: READ_RUN,
      parameters: [RUN],
      answers: { 200: { description: 'How it ended.', content: json(named('RunResult')) } },
      refused: [404],
    },
    (context) => async (c, caller) => {
      const result = runResultJson(await retrieveRun(context, { caller, id: c.req.param('id') }), caller)
      if (result === undefined) throw new Refusal(404, 'Run has not ended yet')
      return c.body(await packetJson(result, context.turns), 200, JSON_TYPE)
    },
  ),
  // For secret keys: it names other runs of a queue, and the machine of an engine.
  route(
    EXPLAIN_RUN_ADDRESS,
    {
      id: 'explainRun',
      tag: 'Runs',
      summary: 'Ask why a run stands where it stands',
      description:
        'What only an engine knows, its tasks, limits and slots, is that of the engine behind the handler.',
      allowed: 'secret key',
      parameters: [RUN],
      answers: { 200: { description: 'Why.', content: json(named('RunExplanation')) } },
      refused: [404],
    },
    ({ engine }) =>
      async (c) =>
        c.json(await engine.runs.explain(c.req.param('id'))),
  ),
  route(
    'GET /api/v1/runs/:id/metadata',
    {
      id: 'readMetadata',
      tag: 'Runs',
      summary: 'Read the metadata of a run',
      allowed: READ_RUN,
      parameters: [RUN],
      answers: { 200: METADATA },
      refused: [404],
    },
    (context) => async (c, caller) => {
      const { record } = await retrieveRun(context, { caller, id: c.req.param('id') })
      return c.body(`{"metadata":${shownTexts(record, caller).metadata ?? '{}'}}`, 200, JSON_TYPE)
    },
  ),
]

const changing: readonly Route<RunParts>[] = [
  route(
    CANCEL_RUN_ADDRESS,
    {
      id: 'cancelRun',
      tag: 'Runs',
      summary: 'Cancel a run',
      description: 'A run that has ended stays as it is.',
      allowed: [...WRITE_RUN, 'cancel:runs:<id>'],
      parameters: [RUN],
      answers: { 200: { description: 'Canceled, or ended before.', content: json(object({ id: TEXT })) } },
      refused: [404],
    },
    ({ engine, gate }) =>
      async (c, caller) => {
        const id = plausibleRunId(c.req.param('id'))
        return c.json(await gate.spending(caller, () => engine.runs.cancel(id)))
      },
  ),
  route(
    REPLAY_RUN_ADDRESS,
    {
      id: 'replayRun',
      tag: 'Runs',
      summary: 'Start a run anew',
      description:
        'A new run of the same task with the same payload and tags. Options that would change it are refused.',
      allowed: WRITE_RUN,
      parameters: [RUN, REPEATED],
      body: { required: false, content: json(JSON_OBJECT) },
      answers: { 200: { description: 'The new run.', content: json(object({ id: TEXT })) } },
      refused: [404, 422],
    },
    ({ engine, gate, limits }) => {
      const repeated = new RepeatedRequests<RunHandle<unknown>>()
      const whose = ({ credential }: Caller, id: string): string => `${credential} ${id}`
      return {
        isRepetition: (c, caller) =>
          repeated.has(whose(caller, c.req.param('id')), c.req.header(REQUEST_NAME)),
        answer: async (c, caller) => {
          const original = plausibleRunId(c.req.param('id'))
          const name = c.req.header(REQUEST_NAME)
          const { id } = await repeated.serve(whose(caller, original), name, async () => {
            checkAnnouncedLength(c.req.raw, limits.triggerBytes)
            const body = await readBody(c.req.raw, limits.triggerBytes)
            // Newer clients send options for the replayed run.
            const type = c.req.header('content-type')
            if (body.length > 0)
              checkServiceOptions(requireJsonObject(parseJson(decodeText(body, type)), 'the body'), REPLAYED)
            return gate.spending(caller, () => engine.runs.replay(original))
          })
          return c.json({ id })
        },
      }
    },
  ),
  route(
    'POST /api/v1/runs/:id/tags',
    {
      id: 'addTags',
      tag: 'Runs',
      summary: 'Add tags to a run',
      allowed: WRITE_RUN,
      parameters: [RUN],
      body: { required: true, content: json(object({ tags: LABELS })) },
      answers: { 200: { description: 'Added.', content: json(object({ message: TEXT })) } },
      refused: [404, 422],
    },
    ({ gate, limits, changes }) =>
      async (c, caller) => {
        const id = plausibleRunId(c.req.param('id'))
        const { tags } = await readJsonObject(c.req.raw, limits.otherBytes)
        if (tags === undefined) throw new Refusal(400, 'Validation error: "tags" is missing')
        // `RunChanges.tags` checks their type.
        const count = await gate.spending(caller, () =>
          refusingWrongInput(() => changes.tags(id, tags as readonly string[])),
        )
        return c.json({ message: `Successfully set ${count} new tags.` })
      },
  ),
  route(
    RESCHEDULE_RUN_ADDRESS,
    {
      id: 'rescheduleRun',
      tag: 'Runs',
      summary: 'Move the start of a delayed run',
      description:
        '422 for a run that is not `DELAYED` by its trigger, or has a `ttl`. A credential that may not read the run sees no payload and no metadata.',
      allowed: WRITE_RUN,
      parameters: [RUN],
      body: { required: true, content: json(object({ delay: DURATION })) },
      answers: { 200: RETRIEVED },
      refused: [404, 422],
    },
    ({ inside, gate, limits, turns }) =>
      async (c, caller) => {
        const id = plausibleRunId(c.req.param('id'))
        // `reschedule` checks the types of the options.
        const options = (await readJsonObject(c.req.raw, limits.otherBytes)) as never as RescheduleOptions
        const record = await gate.spending(caller, () =>
          refusingWrongInput(() => inside.runs.reschedule(id, options)),
        )
        const text = await changedRunText(
          { inside, turns },
          { caller, record },
          c.req.header(API_VERSION_HEADER),
        )
        return c.body(text, 200, JSON_TYPE)
      },
  ),
  route(
    CONTINUE_RUN_ADDRESS,
    {
      id: 'continueRun',
      tag: 'Runs',
      summary: 'Execute a run that waits for fitting code with the code there is',
      description:
        'Waits that fit keep their answers, any other is asked anew. 422 for a run that is not `PENDING_VERSION`. A credential that may not read the run sees no payload and no metadata.',
      allowed: WRITE_RUN,
      parameters: [RUN],
      answers: { 200: RETRIEVED },
      refused: [404, 422],
    },
    ({ inside, gate, turns }) =>
      async (c, caller) => {
        const id = plausibleRunId(c.req.param('id'))
        const record = await gate.spending(caller, () => inside.runs.continueWith(id))
        const text = await changedRunText(
          { inside, turns },
          { caller, record },
          c.req.header(API_VERSION_HEADER),
        )
        return c.body(text, 200, JSON_TYPE)
      },
  ),
  route(
    'PUT /api/v1/runs/:id/metadata',
    {
      id: 'changeMetadata',
      tag: 'Runs',
      summary: 'Change the metadata of a run',
      description:
        'First `metadata` replaces all of it, then `operations` are done in their order. 409 for a run that another process executes, 422 for one that has ended.',
      allowed: WRITE_RUN,
      parameters: [RUN],
      body: { required: true, content: json(named('ChangeMetadata')) },
      answers: { 200: METADATA },
      refused: [404, 409, 422],
    },
    ({ gate, limits, turns, changes }) =>
      async (c, caller) => {
        const id = plausibleRunId(c.req.param('id'))
        const change = readMetadataChange(await readJsonObject(c.req.raw, limits.metadataBytes, turns))
        const metadata = await gate.spending(caller, () => changes.metadata(id, change))
        const shown = caller.skipColumns.has('metadata') ? '{}' : metadata
        return c.body(`{"metadata":${shown}}`, 200, JSON_TYPE)
      },
  ),
]

/** Routes for runs: read and list them, and change one. */
export const RUN_ROUTES: RouteGroup = group(
  [...reading, ...changing],
  (context) => ({ ...context, changes: new RunChanges(context) }),
  RUN_SCHEMAS,
)

const REPLAYED: ReadOptions = {
  names: [],
  what: 'replay a run',
  instead: 'a replayed run gets the payload and options of the original; use trigger to change them',
}

/** Access to change a run does not include access to read its content. It has not ended, so there is no more of it. */
async function changedRunText(
  { inside, turns }: Pick<RouteContext, 'inside' | 'turns'>,
  { caller, record }: { readonly caller: Caller; readonly record: RunRecord },
  apiVersion: string | undefined,
): Promise<string> {
  const run = shownRun(await inside.runs.bare(record), caller)
  await turns.next(sizeOfRun(record))
  if (caller.mayAny(readAccesses(run))) return retrievedRunText({ run, record }, caller, apiVersion)
  const { title: _title, ...untitled } = run
  const { payloadJson: _payload, metadataJson: _metadata, ...bare } = record
  const hidden = { ...untitled, waitingOn: [], attempts: [] }
  return retrievedRunText({ run: hidden, record: bare }, caller, apiVersion)
}
