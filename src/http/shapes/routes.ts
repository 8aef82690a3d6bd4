import type { Context, Hono } from 'hono'
import { RUNS_TOPIC } from '../../core/changes/publisher.ts'
import type { Access } from '../access/scope.ts'
import { BatchRuns } from './batch-runs.ts'
import type { Caller } from '../access/caller.ts'
import { LiveRequest } from '../live-request.ts'
import { LongPoll } from '../events/long-poll.ts'
import { findReadableRun } from '../runs/access.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { RunReads } from './run-reads.ts'
import type { RunSet } from './run-set.ts'
import { RunSetShape } from './run-set.ts'
import { RunShape } from './run.ts'
import { type ShapeChanges, shapeAnswer } from './answer.ts'
import { ShapeLog } from './log.ts'
import { type ShapeOffset, ShapeRequest } from './request.ts'
import { TaggedRuns } from './tagged-runs.ts'

/** Routes for the long-poll protocol of the published client: one run, the runs with some tags, the runs of a batch. */
export function addShapeRoutes(app: Hono, context: RouteContext): void {
  addRunShape(app, context)
  addRunSetShapes(app, context)
}

function addRunShape(app: Hono, context: RouteContext): void {
  addRoute(app, '/realtime/v1/runs/:id', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await context.gate.enter(c.req.raw)
      const id = c.req.param('id')
      const shape = new RunShape(id, () => findReadableRun(context, caller, id))
      return answerShape(c, context, { shape, caller, topic: id })
    },
  })
}

function addRunSetShapes(app: Hono, context: RouteContext): void {
  const { gate, kernel, batches, turns } = context
  const [log, reads] = [new ShapeLog(), new RunReads(kernel)]
  const follow = (c: Context, caller: Caller, set: RunSet): Promise<Response> => {
    const said = c.req.query('handle') ?? c.req.query('shape_id') ?? ''
    const handle = /^shape_\w{1,64}$/.test(said) ? said : kernel.host.made('shape').id
    const shape = new RunSetShape({ kernel, log, reads, set, turns, handle })
    return answerShape(c, context, { shape, caller, topic: RUNS_TOPIC })
  }

  addRoute(app, '/realtime/v1/runs', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const set = new TaggedRuns(kernel, new URL(c.req.url))
      caller.require(ALL_RUNS, ...set.tags.map(readTag))
      return follow(c, caller, set)
    },
  })

  addRoute(app, '/realtime/v1/batches/:id', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = c.req.param('id')
      caller.require(ALL_RUNS, { action: 'read', type: 'batch', id })
      return follow(c, caller, new BatchRuns(kernel, await batches.require(id)))
    },
  })
}

const ALL_RUNS: Access = { action: 'read', type: 'runs' }

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
  const { kernel, gate, turns } = context
  const request = new ShapeRequest(new URL(c.req.url), c.req.raw.headers)
  const { offset } = request
  const live = LiveRequest.of(c)
  const to = { request, caller, turns, kernel, live }
  if (!request.isLive || offset === undefined) return shapeAnswer(await shape.all(), to)
  const close = gate.subscriptions.open(caller.credential)
  try {
    const poll = new LongPoll(kernel, {
      live,
      signal: c.req.raw.signal,
      topics: [topic],
      expiresAt: caller.expiresAt,
    })
    const changed = await poll.find(() => shape.since(offset))
    return shapeAnswer(changed ?? shape.unchanged(offset), to)
  } finally {
    close()
  }
}

function readTag(tag: string): Access {
  return { action: 'read', type: 'tags', id: tag }
}
