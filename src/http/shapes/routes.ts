import type { Context } from 'hono'
import { ALL_RUNS, sizeOfRun } from '../../core/inside.ts'
import { FOLLOW_RUN_BY_POLLING_ADDRESS } from '../../hosted/addresses.ts'
import { BatchRuns } from './batch-runs.ts'
import type { Caller } from '../access/caller.ts'
import { LiveRequest } from '../live-request.ts'
import { LongPoll } from '../events/long-poll.ts'
import {
  FLAG,
  json,
  JSON_OBJECT,
  arrayOf,
  named,
  object,
  type OperationGroup,
  type Parameter,
  TEXT,
} from '../operation.ts'
import { findReadableRun } from '../runs/access.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { RunReads } from './run-reads.ts'
import type { RunSet } from './run-set.ts'
import { RunSetShape } from './run-set.ts'
import { RunShape } from './run.ts'
import { type ShapeChanges, shapeAnswer } from './answer.ts'
import { ShapeLog } from './log.ts'
import { type ShapeOffset, ShapeRequest } from './request.ts'
import { TaggedRuns } from './tagged-runs.ts'
import { SHAPE_HANDLE, SHAPE_OFFSET, SHAPE_VERSION } from '../../hosted/headers.ts'
import { OLDER_HANDLE_PARAMETER } from '../../hosted/shapes.ts'

interface ShapeParts extends RouteContext {
  readonly log: ShapeLog
  readonly reads: RunReads
}

const PARAMETERS: readonly Parameter[] = [
  {
    name: 'live',
    in: 'query',
    description: '`true` waits for a change, for some 20 seconds; else the answer is what there is.',
    schema: FLAG,
  },
  { name: 'offset', in: 'query', description: `\`${SHAPE_OFFSET}\` of the last answer; \`-1\` at first.` },
  { name: 'handle', in: 'query', description: `\`${SHAPE_HANDLE}\` of the last answer.` },
  { name: 'skipColumns', in: 'query', description: 'Columns that are not wanted.', isList: true },
  {
    name: SHAPE_VERSION,
    in: 'header',
    description: 'Sent by newer clients; without it the answer also has the headers that older ones read.',
  },
]
const ROWS = {
  description: 'The rows that are new, then a message that these are all.',
  headers: {
    [SHAPE_OFFSET]: 'Where to go on.',
    [SHAPE_HANDLE]: 'Which rows these are.',
  },
  content: json(named('ShapeMessages')),
}
const PROTOCOL =
  'The long-poll protocol of the published client and its React hooks. For other programs there is `/api/v1/runs/{id}/stream`.'

const routes: readonly Route<ShapeParts>[] = [
  route(
    FOLLOW_RUN_BY_POLLING_ADDRESS,
    {
      id: 'followRunByPolling',
      tag: 'Following',
      summary: 'Follow a run by long polls',
      description: `${PROTOCOL} A run that does not exist has no rows until it does.`,
      allowed: ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>'],
      anyOrigin: true,
      parameters: [{ name: 'id', in: 'path', description: 'The id of the run.' }, ...PARAMETERS],
      answers: { 200: ROWS },
      refused: [400],
    },
    (context) => async (c, caller) => {
      const id = c.req.param('id')
      const shape = new RunShape(id, async () => {
        const record = await findReadableRun(context, caller, id)
        if (record !== undefined) await context.turns.next(sizeOfRun(record))
        return record
      })
      return answerShape(c, context, { shape, caller, topic: id })
    },
  ),
  route(
    'GET /realtime/v1/runs',
    {
      id: 'followRunsByPolling',
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
    (parts) => async (c, caller) => {
      const set = new TaggedRuns(parts.inside, new URL(c.req.url))
      const tags = set.tags.map((id) => ({ action: 'read', type: 'tags', id }))
      caller.require({ action: 'read', type: 'runs' }, ...tags)
      return followSet(c, parts, { caller, set })
    },
  ),
  route(
    'GET /realtime/v1/batches/:id',
    {
      id: 'followBatchByPolling',
      tag: 'Following',
      summary: 'Follow the runs of a batch by long polls',
      description: PROTOCOL,
      allowed: ['read:runs', 'read:batch:<id>'],
      anyOrigin: true,
      parameters: [{ name: 'id', in: 'path', description: 'The id of the batch.' }, ...PARAMETERS],
      answers: { 200: ROWS },
      refused: [400, 404],
    },
    (parts) => async (c, caller) =>
      followSet(c, parts, {
        caller,
        set: new BatchRuns(parts.inside, await parts.batches.require(c.req.param('id'))),
      }),
  ),
]

const schemas: OperationGroup['schemas'] = {
  ShapeMessages: arrayOf({
    anyOf: [
      object({ key: TEXT, value: JSON_OBJECT, headers: object({ operation: TEXT }) }),
      object({ headers: object({ control: TEXT }) }),
    ],
  }),
}

/** Routes for the long-poll protocol of the published client: one run, the runs with some tags, the runs of a batch. */
export const SHAPE_ROUTES: RouteGroup = group(
  routes,
  (context) => ({ ...context, log: new ShapeLog(), reads: new RunReads(context.inside) }),
  schemas,
)

function followSet(
  c: Context,
  { log, reads, ...context }: ShapeParts,
  { caller, set }: { readonly caller: Caller; readonly set: RunSet },
): Promise<Response> {
  const { inside, turns } = context
  const said = c.req.query('handle') ?? c.req.query(OLDER_HANDLE_PARAMETER) ?? ''
  const handle = /^shape_\w{1,64}$/.test(said) ? said : inside.host.made('shape').id
  const shape = new RunSetShape({ inside, log, reads, set, turns, handle })
  return answerShape(c, context, { shape, caller, topic: ALL_RUNS })
}

interface Shape {
  all(): Promise<ShapeChanges>
  since(seen: ShapeOffset): Promise<ShapeChanges | undefined>
  unchanged(seen: ShapeOffset): ShapeChanges
}

interface ShapeSubscription {
  readonly shape: Shape
  readonly caller: Caller
  /** A topic that receives a hint whenever the shape may have changed. */
  readonly topic: string
}

/** Answers with the current rows, or with changed rows as soon as there are any. */
async function answerShape(
  c: Context,
  context: RouteContext,
  { shape, caller, topic }: ShapeSubscription,
): Promise<Response> {
  const { inside, gate, turns } = context
  const request = new ShapeRequest(new URL(c.req.url), c.req.raw.headers)
  const { offset } = request
  const live = LiveRequest.of(c)
  const to = { request, caller, turns, inside, live }
  if (!request.isLive || offset === undefined) return shapeAnswer(await shape.all(), to)
  const close = gate.subscriptions.open(caller.credential)
  try {
    const poll = new LongPoll(inside, {
      live,
      signal: c.req.raw.signal,
      topic,
      expiresAt: caller.expiresAt,
    })
    const changed = await poll.find(() => shape.since(offset))
    return shapeAnswer(changed ?? shape.unchanged(offset), to)
  } finally {
    close()
  }
}
