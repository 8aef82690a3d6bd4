import type { Context, Hono } from 'hono'
import { RUNS_TOPIC } from '../core/run-journal.ts'
import type { Access } from './access-scope.ts'
import type { Caller } from './caller.ts'
import { LiveRequest } from './live-request.ts'
import { LongPoll } from './long-poll.ts'
import { findReadableRun } from './readable-run.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { RunSet } from './run-set.ts'
import { RunSetShape } from './run-set-shape.ts'
import { RunShape } from './run-shape.ts'
import { type ShapeNews, shapeAnswer } from './shape-answer.ts'
import { ShapeLog } from './shape-log.ts'
import { type ShapeOffset, ShapeRequest } from './shape-request.ts'

/** What follows runs by the long-poll protocol of the published client: one run, or those with some tags. */
export function addShapeRoutes(app: Hono, context: RouteContext): void {
  const { gate, kernel } = context
  const log = new ShapeLog()

  addRoute(app, '/realtime/v1/runs/:id', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const id = c.req.param('id')
      const shape = new RunShape(id, () => findReadableRun(context, caller, id))
      return answerShape(c, context, { shape, caller, topic: id })
    },
  })

  addRoute(app, '/realtime/v1/runs', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const set = new RunSet(new URL(c.req.url))
      caller.require({ action: 'read', type: 'runs' }, ...set.tags.map(readTag))
      const said = c.req.query('handle') ?? c.req.query('shape_id') ?? ''
      const handle = /^shape_\w{1,64}$/.test(said) ? said : kernel.parts.host.newId('shape')
      const shape = new RunSetShape({ kernel, log, set, handle })
      return answerShape(c, context, { shape, caller, topic: RUNS_TOPIC })
    },
  })
}

interface Shape {
  all(): Promise<ShapeNews>
  since(seen: ShapeOffset): Promise<ShapeNews | undefined>
  unchanged(seen: ShapeOffset): ShapeNews
}

interface ShapeSubscription {
  readonly shape: Shape
  readonly caller: Caller
  /** What changes when the shape may have. */
  readonly topic: string
}

/** What there is, or what has changed since as soon as something has. */
async function answerShape(
  c: Context,
  { kernel, gate }: RouteContext,
  { shape, caller, topic }: ShapeSubscription,
): Promise<Response> {
  const request = new ShapeRequest(new URL(c.req.url), c.req.raw.headers)
  const { offset } = request
  if (!request.isLive || offset === undefined) return shapeAnswer(await shape.all(), request)
  const close = gate.subscriptions.open(caller.credential)
  try {
    const poll = new LongPoll(kernel, {
      live: LiveRequest.of(c),
      signal: c.req.raw.signal,
      topics: [topic],
    })
    const news = await poll.find(() => shape.since(offset))
    return shapeAnswer(news ?? shape.unchanged(offset), request)
  } finally {
    close()
  }
}

function readTag(tag: string): Access {
  return { action: 'read', type: 'tags', id: tag }
}
