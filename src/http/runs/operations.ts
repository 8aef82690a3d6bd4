import {
  ANYTHING,
  COUNT,
  FLAG,
  INSTANT,
  json,
  JSON_OBJECT,
  LIST_PARAMETERS,
  arrayOf,
  named,
  object,
  type Operation,
  type OperationGroup,
  pageOf,
  type Parameter,
  REPEATED,
  type Schema,
  TEXT,
} from '../operation.ts'

const RUN: Parameter = { name: 'id', in: 'path', description: 'The id of the run: `run_…`.' }
const READ_RUN = ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>']
const WRITE_RUN = ['write:runs:<id>']
const DURATION: Schema = { anyOf: [TEXT, COUNT] }
const LABELS: Schema = { anyOf: [TEXT, arrayOf(TEXT)] }
const METADATA = { description: 'The metadata.', content: json(object({ metadata: JSON_OBJECT })) }
const RETRIEVED = { description: 'The run.', content: json(named('RetrievedRun')) }

const reading: readonly Operation[] = [
  {
    id: 'retrieveRun',
    method: 'get',
    path: '/api/v3/runs/{id}',
    tag: 'Runs',
    summary: 'Read a run',
    allowed: READ_RUN,
    parameters: [RUN],
    answers: { 200: RETRIEVED },
    refused: [404],
  },
  {
    id: 'listRuns',
    method: 'get',
    path: '/api/v1/runs',
    tag: 'Runs',
    summary: 'List runs',
    description:
      'Newest first, without payloads, outputs and errors. A list by tasks or by tags may also be read with the scopes of all of these. A `filter` or `page` that does not exist is refused.',
    allowed: ['read:runs', 'read:tasks:<task>', 'read:tags:<tag>'],
    parameters: [
      {
        name: 'filter[status]',
        in: 'query',
        description: 'Any of these statuses. Statuses of the hosted service that no run has here match none.',
        isList: true,
      },
      {
        name: 'filter[taskIdentifier]',
        in: 'query',
        description: 'Runs of any of these tasks.',
        isList: true,
      },
      { name: 'filter[tag]', in: 'query', description: 'Runs with any of these tags.', isList: true },
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
  {
    id: 'runResult',
    method: 'get',
    path: '/api/v1/runs/{id}/result',
    tag: 'Runs',
    summary: 'Read how a run ended',
    description: '404 also while the run has not ended.',
    allowed: READ_RUN,
    parameters: [RUN],
    answers: { 200: { description: 'How it ended.', content: json(named('RunResult')) } },
    refused: [404],
  },
  {
    id: 'explainRun',
    method: 'get',
    path: '/api/v1/runs/{id}/explanation',
    tag: 'Runs',
    summary: 'Ask why a run stands where it stands',
    description:
      'What only an engine knows, its tasks, limits and slots, is that of the engine behind the handler.',
    allowed: 'secret key',
    parameters: [RUN],
    answers: { 200: { description: 'Why.', content: json(named('RunExplanation')) } },
    refused: [404],
  },
  {
    id: 'readMetadata',
    method: 'get',
    path: '/api/v1/runs/{id}/metadata',
    tag: 'Runs',
    summary: 'Read the metadata of a run',
    allowed: READ_RUN,
    parameters: [RUN],
    answers: { 200: METADATA },
    refused: [404],
  },
]

const changing: readonly Operation[] = [
  {
    id: 'cancelRun',
    method: 'post',
    path: '/api/v2/runs/{id}/cancel',
    tag: 'Runs',
    summary: 'Cancel a run',
    description: 'A run that has ended stays as it is.',
    allowed: [...WRITE_RUN, 'cancel:runs:<id>'],
    parameters: [RUN],
    answers: { 200: { description: 'Canceled, or ended before.', content: json(object({ id: TEXT })) } },
    refused: [404],
  },
  {
    id: 'replayRun',
    method: 'post',
    path: '/api/v1/runs/{id}/replay',
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
  {
    id: 'addTags',
    method: 'post',
    path: '/api/v1/runs/{id}/tags',
    tag: 'Runs',
    summary: 'Add tags to a run',
    allowed: WRITE_RUN,
    parameters: [RUN],
    body: { required: true, content: json(object({ tags: LABELS })) },
    answers: { 200: { description: 'Added.', content: json(object({ message: TEXT })) } },
    refused: [404, 422],
  },
  {
    id: 'rescheduleRun',
    method: 'post',
    path: '/api/v1/runs/{id}/reschedule',
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
  {
    id: 'continueRun',
    method: 'post',
    path: '/api/v1/runs/{id}/continue',
    tag: 'Runs',
    summary: 'Execute a run that waits for fitting code with the code there is',
    description:
      'Waits that fit keep their answers, any other is asked anew. 422 for a run that is not `PENDING_VERSION`. A credential that may not read the run sees no payload and no metadata.',
    allowed: WRITE_RUN,
    parameters: [RUN],
    answers: { 200: RETRIEVED },
    refused: [404, 422],
  },
  {
    id: 'changeMetadata',
    method: 'put',
    path: '/api/v1/runs/{id}/metadata',
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
]

const ERROR = { name: TEXT, message: TEXT }
const RUN_ERROR = object(ERROR, { stackTrace: TEXT, code: TEXT })
const FLAGS = {
  isQueued: FLAG,
  isExecuting: FLAG,
  isWaiting: FLAG,
  isCompleted: FLAG,
  isSuccess: FLAG,
  isFailed: FLAG,
  isCancelled: FLAG,
}
/** The fields of a run that the hosted service has, and an engine has no use for. */
const OF_THE_SERVICE = { isTest: { const: false }, costInCents: { const: 0 }, baseCostInCents: { const: 0 } }
const ALWAYS = {
  id: TEXT,
  taskIdentifier: TEXT,
  status: named('RunStatus'),
  tags: arrayOf(TEXT),
  metadata: JSON_OBJECT,
  realtimeStreams: arrayOf(TEXT),
  attemptCount: COUNT,
  createdAt: INSTANT,
  updatedAt: INSTANT,
  durationMs: COUNT,
  rootId: TEXT,
  ...FLAGS,
  ...OF_THE_SERVICE,
}
const SOMETIMES = {
  queue: TEXT,
  concurrencyKey: TEXT,
  priority: { type: 'number' },
  idempotencyKey: TEXT,
  debounceKey: TEXT,
  batchId: TEXT,
  startedAt: INSTANT,
  finishedAt: INSTANT,
  delayedUntil: INSTANT,
  expiredAt: INSTANT,
  parentId: TEXT,
}

const schemas: Readonly<Record<string, Schema>> = {
  RunStatus: {
    type: 'string',
    enum: [
      'DELAYED',
      'QUEUED',
      'EXECUTING',
      'WAITING',
      'PENDING_VERSION',
      'COMPLETED',
      'FAILED',
      'CANCELED',
      'TIMED_OUT',
      'EXPIRED',
      'CRASHED',
    ],
  },
  Run: object({ ...ALWAYS, env: object({ id: TEXT, name: TEXT }) }, SOMETIMES),
  RetrievedRun: object(
    {
      ...ALWAYS,
      waitingOn: arrayOf(object({ id: TEXT, kind: TEXT }, { timeoutAt: INSTANT })),
      attempts: arrayOf(
        object({
          number: COUNT,
          startedAt: INSTANT,
          endedAt: INSTANT,
          executingMs: COUNT,
          waitingMs: COUNT,
          error: RUN_ERROR,
        }),
      ),
      depth: COUNT,
      triggerFunction: TEXT,
      relatedRuns: object({}),
    },
    {
      ...SOMETIMES,
      owner: named('RunOwner'),
      payload: ANYTHING,
      output: ANYTHING,
      error: RUN_ERROR,
    },
  ),
  RunResult: {
    description: '`output` is JSON text.',
    oneOf: [
      object({ ok: { const: true }, id: TEXT, taskIdentifier: TEXT, outputType: TEXT }, { output: TEXT }),
      object({
        ok: { const: false },
        id: TEXT,
        taskIdentifier: TEXT,
        error: object({ type: { const: 'BUILT_IN_ERROR' }, ...ERROR, stackTrace: TEXT }),
      }),
    ],
  },
  RunOwner: object(
    { id: TEXT, isHere: FLAG },
    { host: TEXT, pid: COUNT, heardAt: INSTANT, leaseEndsAt: INSTANT },
  ),
  RunExplanation: {
    description: 'What else there is depends on `reason`.',
    ...(object(
      { id: TEXT, status: named('RunStatus'), reason: TEXT, sentence: TEXT },
      {
        at: INSTANT,
        until: INSTANT,
        error: object(ERROR, { stack: TEXT, code: TEXT }),
        attempt: COUNT,
        maxAttempts: COUNT,
        taskIdentifier: TEXT,
        version: TEXT,
        queue: TEXT,
        concurrencyKey: TEXT,
        limit: COUNT,
        isPaused: FLAG,
        heldBy: arrayOf(TEXT),
        ahead: COUNT,
        isMore: FLAG,
        expiresAt: INSTANT,
        waits: arrayOf(
          object(
            { id: TEXT, kind: TEXT, tags: arrayOf(TEXT), createdAt: INSTANT },
            { timeoutAt: INSTANT, taskIdentifier: TEXT, status: named('RunStatus') },
          ),
        ),
        owner: named('RunOwner'),
        startedAt: INSTANT,
        changedAt: INSTANT,
        isDraining: FLAG,
      },
    ) as object),
  },
  ChangeMetadata: object({}, { metadata: JSON_OBJECT, operations: arrayOf(named('MetadataOperation')) }),
  MetadataOperation: {
    description:
      '`append` and `remove` change a list, `increment` a number. `update` takes an object as its value, and no key.',
    ...(object(
      { type: { type: 'string', enum: ['set', 'delete', 'append', 'remove', 'increment', 'update'] } },
      { key: TEXT, value: ANYTHING },
    ) as object),
  },
}

/** Runs over HTTP, as they are documented. */
export const RUN_OPERATIONS: OperationGroup = { operations: [...reading, ...changing], schemas }
