import type { Context, Hono } from 'hono'
import { accessTokenHeaders } from './access-token.ts'
import type { Caller } from './caller.ts'
import { readJsonObject } from './json-body.ts'
import { type PacketPlace, PacketStore } from './packet-store.ts'
import { Refusal } from './refusal.ts'
import { RepeatedRequests } from './repeated-requests.ts'
import { checkAnnouncedLength, decodeText, readBody } from './request-body.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'
import { readTriggerBody } from './trigger-body.ts'
import { refusingWrongInput } from './wrong-input.ts'

interface Triggered {
  readonly id: string
  readonly isCached: boolean
  readonly publicAccessToken: string
}

/** Triggering over HTTP, large payloads ahead of it. */
export function addTriggerRoutes(app: Hono, context: RouteContext): void {
  const packets = new PacketStore(context.kernel.parts.host, context.limits)
  addTrigger(app, context, packets)
  addPackets(app, context, packets)
}

function addTrigger(app: Hono, { engine, gate, limits }: RouteContext, packets: PacketStore): void {
  const repeated = new RepeatedRequests<Triggered>()

  const trigger = async (taskId: string, caller: Caller, request: Request): Promise<Triggered> => {
    const body = await readJsonObject(request, limits.triggerBytes)
    const packetAt = (path: string): ReturnType<PacketStore['get']> => packets.get(caller.credential, path)
    const { payload, options, packetPath } = readTriggerBody(body, { limits, packetAt })
    const run = await gate.spending(caller, () =>
      // What the task makes of the payload is checked by the engine.
      refusingWrongInput(() => engine.tasks.trigger(taskId, payload as never, options)),
    )
    if (packetPath !== undefined) packets.drop(packetPath)
    const { id, isCached, publicAccessToken } = run
    return { id, isCached, publicAccessToken }
  }

  addRoute(app, '/api/v1/tasks/:id/trigger', {
    anyOrigin: true,
    POST: async (c) => {
      const caller = await gate.enter(c.req.raw)
      const taskId = c.req.param('id')
      caller.require({ action: 'trigger', type: 'tasks', id: taskId })
      const name = c.req.header('x-trigger-request-idempotency-key')
      const triggered = await repeated.serve(`${caller.credential} ${taskId}`, name, () =>
        trigger(taskId, caller, c.req.raw),
      )
      return c.json(triggered, 200, accessTokenHeaders(triggered.publicAccessToken))
    },
  })
}

/** A place is asked for, then filled: with the address of a place comes the right to fill it. */
function addPackets(app: Hono, { gate, limits, kernel }: RouteContext, packets: PacketStore): void {
  addRoute(app, '/api/v2/packets/:name', {
    PUT: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      const place = packets.reserve(caller.credential)
      const base = kernel.parts.credentials.baseUrl ?? baseOf(c)
      return c.json({ presignedUrl: `${base}${pathOf(place)}`, storagePath: place.path })
    },
  })

  addRoute(app, '/api/v2/packets/:path/content/:key', {
    PUT: async (c) => {
      const place = c.req.param()
      await gate.enterBy(`packet ${place.path}`, () => {
        if (!packets.accepts(place)) throw new Refusal(401, 'Invalid URL')
      })
      checkAnnouncedLength(c.req.raw, limits.triggerBytes)
      const text = decodeText(await readBody(c.req.raw, limits.triggerBytes))
      packets.put(place.path, { text, type: c.req.header('content-type') ?? 'application/json' })
      return c.json({ success: true })
    },
  })
}

function pathOf({ path, key }: PacketPlace): string {
  return `/api/v2/packets/${path}/content/${key}`
}

/** The address under which this request came in, up to the path that is ours. */
function baseOf({ req }: Context): string {
  const { origin, pathname } = new URL(req.url)
  return origin + pathname.slice(0, pathname.lastIndexOf('/api/v2/packets/'))
}
