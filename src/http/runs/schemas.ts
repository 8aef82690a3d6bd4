import { RUN_STATUSES } from '../../contract/run-states.ts'
import { ERROR_TYPE, OF_THE_SERVICE, RUN_MEMBERS } from '../../hosted/run.ts'
import {
  ANYTHING,
  arrayOf,
  COUNT,
  FLAG,
  INSTANT,
  JSON_OBJECT,
  membersOf,
  named,
  object,
  type OperationGroup,
  TEXT,
} from '../operation.ts'

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
const SERVICE = Object.fromEntries(
  Object.entries(OF_THE_SERVICE).map(([name, value]) => [name, { const: value }]),
)
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
  ...SERVICE,
}
const SOMETIMES = membersOf(RUN_MEMBERS)

/** What the document says of runs. */
export const RUN_SCHEMAS: OperationGroup['schemas'] = {
  RunStatus: {
    type: 'string',
    enum: RUN_STATUSES,
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
        error: object({ type: { const: ERROR_TYPE }, ...ERROR, stackTrace: TEXT }),
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
        heldBackBy: object(
          { name: TEXT, isPaused: FLAG, heldBy: arrayOf(TEXT) },
          { total: COUNT, perKey: COUNT },
        ),
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
