import type { Context } from 'hono'
import { json, object, TEXT } from '../operation.ts'
import type { PacketPlace } from './packet-store.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { mediaTypeOf } from '../requests/content-type.ts'
import { decodeText } from '../requests/text.ts'
import { type Route, route } from '../route.ts'
import type { TriggerParts } from './sent.ts'

/** Routes for payloads sent ahead of their runs: a client reserves a place, then uploads to its address. */
export const PACKET_ROUTES: readonly Route<TriggerParts>[] = [
  route(
    'PUT /api/v2/packets/:name',
    {
      id: 'reservePacket',
      tag: 'Triggering',
      summary: 'Ask for a place for a large payload',
      description: 'The payload goes to `presignedUrl`; the trigger then has `storagePath` as its payload.',
      allowed: 'secret key',
      parameters: [{ name: 'name', in: 'path', description: 'Any name; it means nothing here.' }],
      answers: {
        200: {
          description: 'The place, for five minutes.',
          content: json(object({ presignedUrl: TEXT, storagePath: TEXT })),
        },
      },
    },
    ({ inside, packets }) =>
      (c, { credential }) => {
        const place = packets.reserve(credential)
        // Not the address the server listens on: clients on other machines may be unable to reach it.
        const base = inside.credentials.givenUrl ?? baseOf(c)
        return c.json({ presignedUrl: `${base}${pathOf(place)}`, storagePath: place.path })
      },
  ),
  route(
    'PUT /api/v2/packets/:path/content/:key',
    {
      id: 'putPacket',
      tag: 'Triggering',
      summary: 'Send a large payload ahead',
      allowed: 'address',
      parameters: [
        { name: 'path', in: 'path', description: 'The place.' },
        { name: 'key', in: 'path', description: 'Proves that the engine gave the address out.' },
      ],
      body: { required: true, content: { '*/*': TEXT } },
      answers: { 200: { description: 'Kept.', content: json(object({ success: { const: true } })) } },
      refused: [404],
    },
    ({ gate, limits, packets }) =>
      async (c) => {
        const place = c.req.param()
        await gate.enterBy(c.req.raw, `packet ${place.path}`, () => {
          if (!packets.accepts(place)) throw new Refusal(401, 'Invalid URL')
        })
        checkAnnouncedLength(c.req.raw, limits.triggerBytes)
        const type = c.req.header('content-type')
        const text = decodeText(await readBody(c.req.raw, limits.triggerBytes), type)
        packets.put(place.path, { text, type: mediaTypeOf(type) || 'application/json' })
        return c.json({ success: true })
      },
  ),
]

function pathOf({ path, key }: PacketPlace): string {
  return `/api/v2/packets/${path}/content/${key}`
}

/** The address of this request, up to the path of the handler. */
function baseOf({ req }: Context): string {
  const { origin, pathname } = new URL(req.url)
  return origin + pathname.slice(0, pathname.lastIndexOf('/api/v2/packets/'))
}
