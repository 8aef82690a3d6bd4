import type { Context, Hono } from 'hono'
import { followStreams } from '../../core/reading/followed-streams.ts'
import { followRunAlone } from '../../core/reading/subscription.ts'
import type { Caller } from '../access/caller.ts'
import { eventResponse } from '../events/response.ts'
import { Refusal } from '../refusal.ts'
import { requireReadableRun } from '../runs/access.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { RunCursor } from './run-cursor.ts'
import { runEvents } from './run-events.ts'

/**
 * Routes for a run and its streams as server-sent events, readable without a client library. `EventSource` cannot send
 * headers, so the URL may have `access_token` (a public access token) and `lastEventId`. See docs/in-the-browser.md.
 */
export function addRunStreamRoutes(app: Hono, context: RouteContext): void {
  addRoute(app, '/api/v1/runs/:id/stream', {
    anyOrigin: true,
    GET: async (c) => {
      const caller = await enter(c, context)
      const cursor = readCursor(c.req.header('last-event-id') ?? c.req.query('lastEventId') ?? '')
      const hasIds = !isNone(c.req.query('ids'), 'ids')
      const hasStreams = !isNone(c.req.query('streams'), 'streams')
      const { id, streams } = await requireReadableRun(context, caller, c.req.param('id'))
      cursor.keepOnly(streams)
      // An `EventSource` reconnects after the end. This status stops it.
      if (cursor.isAtEnd) return c.body(null, 204)
      const { kernel } = context
      const parts = hasStreams ? followStreams(kernel, id, cursor.positions) : followRunAlone(kernel, id)
      return eventResponse(c, context, {
        texts: runEvents(parts, { cursor, caller, hasIds }),
        leave: () => parts.return(),
        caller,
      })
    },
  })
}

async function enter(c: Context, { gate }: RouteContext): Promise<Caller> {
  const token = c.req.query('access_token')
  if (token === undefined || c.req.header('authorization') !== undefined) return gate.enter(c.req.raw)
  // The text comes from the URL, and goes into a header.
  const authorization = /^[\x21-\x7e]+$/.test(token) ? `Bearer ${token}` : ''
  const caller = await gate.enter(new Request(c.req.url, { headers: { authorization } }))
  if (!caller.hasSecretKey) return caller
  throw new Refusal(
    401,
    'Cannot take a secret key from a URL, because URLs appear in logs: use a public access token',
  )
}

/** Whether a parameter leaves out something of the events. */
function isNone(value: string | undefined, name: string): boolean {
  if (value === undefined || value === 'none') return value === 'none'
  throw new Refusal(400, `Cannot use ${name} ${JSON.stringify(value.slice(0, 100))}: it must be none`)
}

function readCursor(id: string): RunCursor {
  const cursor = RunCursor.parse(id)
  if (cursor !== undefined) return cursor
  throw new Refusal(
    400,
    `Cannot read on after ${JSON.stringify(id.slice(0, 100))}: it is not an id of an event of this stream`,
  )
}
