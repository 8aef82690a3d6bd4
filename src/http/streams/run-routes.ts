import type { Context, Hono } from 'hono'
import { followStreams } from '../../core/reading/followed-streams.ts'
import type { Caller } from '../access/caller.ts'
import { eventResponse } from '../events/response.ts'
import { Refusal } from '../refusal.ts'
import { requireReadableRun } from '../runs/access.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { RunCursor } from './run-cursor.ts'
import { runEvents } from './run-events.ts'

/**
 * A run and its streams as server-sent events, for people without a client. What an `EventSource` cannot send as headers
 * it gives in the URL: `access_token`, a public one, and `lastEventId`.
 */
export function addRunStreamRoutes(app: Hono, context: RouteContext): void {
  addRoute(app, '/api/v1/runs/:id/stream', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await enter(c, context)
      const cursor = readCursor(c.req.header('last-event-id') ?? c.req.query('lastEventId') ?? '')
      const { id } = await requireReadableRun(context, caller, c.req.param('id'))
      // An EventSource comes again after the end; this tells it not to.
      if (cursor.isAtEnd) return c.body(null, 204)
      const parts = followStreams(context.kernel, id, cursor.positions)
      return eventResponse(c, context, {
        texts: runEvents(parts, cursor),
        leave: () => parts.return(),
        caller,
      })
    },
  })
}

async function enter(c: Context, { gate }: RouteContext): Promise<Caller> {
  const token = c.req.query('access_token')
  if (token === undefined || c.req.header('authorization') !== undefined) return gate.enter(c.req.raw)
  // Whatever is in a URL is to go into a header.
  const authorization = /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : ''
  const caller = await gate.enter(new Request(c.req.url, { headers: { authorization } }))
  if (!caller.hasSecretKey) return caller
  throw new Refusal(401, 'Cannot take a secret key from a URL, where many read it: use a public access token')
}

function readCursor(id: string): RunCursor {
  const cursor = RunCursor.parse(id)
  if (cursor !== undefined) return cursor
  throw new Refusal(400, `Cannot read on after ${JSON.stringify(id)}: it is no id of an event of this stream`)
}
