import {
  FLAG,
  json,
  JSON_OBJECT,
  arrayOf,
  named,
  object,
  type Operation,
  type OperationGroup,
  type Parameter,
  TEXT,
} from '../operation.ts'

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'live',
    in: 'query',
    description: '`true` waits for a change, for some 20 seconds; else the answer is what there is.',
    schema: FLAG,
  },
  { name: 'offset', in: 'query', description: '`electric-offset` of the last answer; `-1` at first.' },
  { name: 'handle', in: 'query', description: '`electric-handle` of the last answer.' },
  { name: 'skipColumns', in: 'query', description: 'Columns that are not wanted.', isList: true },
  {
    name: 'x-trigger-electric-version',
    in: 'header',
    description: 'Sent by newer clients; without it the answer also has the headers that older ones read.',
  },
]
const ROWS = {
  description: 'The rows that are new, then a message that these are all.',
  headers: {
    'electric-offset': 'Where to go on.',
    'electric-handle': 'Which rows these are.',
  },
  content: json(named('ShapeMessages')),
}
const PROTOCOL =
  'The long-poll protocol of the published client and its React hooks. For other programs there is `/api/v1/runs/{id}/stream`.'

const operations: readonly Operation[] = [
  {
    id: 'followRunByPolling',
    method: 'get',
    path: '/realtime/v1/runs/{id}',
    tag: 'Following',
    summary: 'Follow a run by long polls',
    description: `${PROTOCOL} A run that does not exist has no rows until it does.`,
    allowed: ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>'],
    anyOrigin: true,
    parameters: [{ name: 'id', in: 'path', description: 'The id of the run.' }, ...PARAMETERS],
    answers: { 200: ROWS },
    refused: [400],
  },
  {
    id: 'followRunsByPolling',
    method: 'get',
    path: '/realtime/v1/runs',
    tag: 'Following',
    summary: 'Follow the newest runs with some tags by long polls',
    description: PROTOCOL,
    allowed: ['read:runs', 'read:tags:<tag>'],
    anyOrigin: true,
    parameters: [
      { name: 'tags', in: 'query', description: 'Runs with all of these tags.', isList: true },
      {
        name: 'createdAt',
        in: 'query',
        description: 'Created within this duration until now; `24h` by default.',
      },
      ...PARAMETERS,
    ],
    answers: { 200: ROWS },
    refused: [400],
  },
  {
    id: 'followBatchByPolling',
    method: 'get',
    path: '/realtime/v1/batches/{id}',
    tag: 'Following',
    summary: 'Follow the runs of a batch by long polls',
    description: PROTOCOL,
    allowed: ['read:runs', 'read:batch:<id>'],
    anyOrigin: true,
    parameters: [{ name: 'id', in: 'path', description: 'The id of the batch.' }, ...PARAMETERS],
    answers: { 200: ROWS },
    refused: [400, 404],
  },
]

/** Runs that are followed by long polls, as they are documented. */
export const SHAPE_OPERATIONS: OperationGroup = {
  operations,
  schemas: {
    ShapeMessages: arrayOf({
      anyOf: [
        object({ key: TEXT, value: JSON_OBJECT, headers: object({ operation: TEXT }) }),
        object({ headers: object({ control: TEXT }) }),
      ],
    }),
  },
}
