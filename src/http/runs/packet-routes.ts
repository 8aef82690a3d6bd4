import type { Context, Hono } from 'hono'
import type { PacketPlace, PacketStore } from './packet-store.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { decodeText } from '../requests/text.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'

/** Routes for payloads sent ahead of their runs: a client reserves a place, then uploads to its address. */
export function addPacketRoutes(
  app: Hono,
  { gate, limits, kernel }: RouteContext,
  packets: PacketStore,
): void {
  addRoute(app, '/api/v2/packets/:name', {
    PUT: async (c) => {
      const caller = await gate.enter(c.req.raw)
      caller.requireSecretKey()
      const place = packets.reserve(caller.credential)
      // Not the address the server listens on: clients on other machines may be unable to reach it.
      const base = kernel.credentials.givenUrl ?? baseOf(c)
      return c.json({ presignedUrl: `${base}${pathOf(place)}`, storagePath: place.path })
    },
  })

  addRoute(app, '/api/v2/packets/:path/content/:key', {
    PUT: async (c) => {
      const place = c.req.param()
      await gate.enterBy(c.req.raw, `packet ${place.path}`, () => {
        if (!packets.accepts(place)) throw new Refusal(401, 'Invalid URL')
      })
      checkAnnouncedLength(c.req.raw, limits.triggerBytes)
      const type = c.req.header('content-type')
      const text = decodeText(await readBody(c.req.raw, limits.triggerBytes), type)
      packets.put(place.path, { text, type: type ?? 'application/json' })
      return c.json({ success: true })
    },
  })
}

function pathOf({ path, key }: PacketPlace): string {
  return `/api/v2/packets/${path}/content/${key}`
}

/** The address of this request, up to the path of the handler. */
function baseOf({ req }: Context): string {
  const { origin, pathname } = new URL(req.url)
  return origin + pathname.slice(0, pathname.lastIndexOf('/api/v2/packets/'))
}
