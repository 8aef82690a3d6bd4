import type { Context, Hono } from 'hono'
import { checkKey } from '../../api/stream.ts'
import { readLines } from '../requests/ndjson-body.ts'
import { OutsideWriter } from './outside-writer.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, decodeText, readBody } from '../requests/body.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { readStream } from './routes.ts'

/** The longest line, and so the longest chunk, in a body of many chunks. */
const LINE_BYTES = 1_024 * 1_024
/** The only version of the write protocol. */
const VERSION = { version: 'v1' }

/** Routes that write to the streams of runs that execute in this process. */
export function addStreamWriteRoutes(app: Hono, context: RouteContext): void {
  const { gate, kernel, limits } = context
  const writer = new OutsideWriter(kernel, limits)

  /** The run and the stream key of a request whose caller may write to it. */
  const enter = async (c: Context): Promise<readonly [runId: string, key: string]> => {
    const caller = await gate.enter(c.req.raw)
    const { runId = '', key = '' } = c.req.param()
    caller.require({ action: 'write', type: 'streams', id: runId })
    return [runId, usableKey(key)]
  }

  /** Reads a stream whose key looks like the address of a writer. */
  const readSelf = async (c: Context, end = ''): Promise<Response> => {
    const caller = await gate.enter(c.req.raw)
    const { runId = '', key = '' } = c.req.param()
    return readStream(c, context, { caller, id: runId, key: `self/${key}${end}` })
  }

  addRoute(app, '/realtime/v1/streams/:runId/self/:key{.+}/append', {
    GET: (c) => readSelf(c, '/append'),
    POST: async (c) => {
      const [runId, key] = await enter(c)
      checkAnnouncedLength(c.req.raw, limits.chunkBytes)
      const chunk = decodeText(await readBody(c.req.raw, limits.chunkBytes))
      await writer.append(runId, key, { chunk, partId: c.req.header('x-part-id') })
      return c.json({ ok: true })
    },
  })

  addRoute(app, '/realtime/v1/streams/:runId/self/:key{.+}', {
    // HEAD is served by GET, but here asks for the position of a writer.
    GET: async (c) => {
      if (c.req.raw.method !== 'HEAD') return readSelf(c)
      const [runId, key] = await enter(c)
      const last = await writer.lastIndex(runId, key, clientOf(c))
      return c.body(null, 200, { 'x-last-chunk-index': `${last}` })
    },
    PUT: async (c) => {
      const [runId, key] = await enter(c)
      await writer.announce(runId, key)
      return c.json(VERSION, 202)
    },
    POST: async (c) => {
      const [runId, key] = await enter(c)
      const resumeFrom = c.req.header('x-resume-from-chunk')
      const isNumbered = resumeFrom !== undefined || c.req.header('x-client-id') !== undefined
      const clientId = isNumbered ? clientOf(c) : undefined
      const batches = readLines(c.req.raw, LINE_BYTES)
      await writer.write(runId, key, { clientId, from: readIndex(resumeFrom), batches })
      return c.json({ ok: true })
    },
  })
}

function usableKey(key: string): string {
  try {
    checkKey(key)
    return key
  } catch (cause) {
    throw new Refusal(400, cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** The client that numbers its chunks. Requests without an id share one. */
function clientOf(c: Context): string {
  const name = c.req.header('x-client-id') ?? 'default'
  if (name.length <= 256) return name
  throw new Refusal(400, 'Cannot use X-Client-Id: it has more than 256 characters')
}

function readIndex(text: string | undefined): number {
  const index = Number(text ?? 0)
  if (Number.isSafeInteger(index) && index >= 0) return index
  throw new Refusal(
    400,
    `Cannot resume from chunk ${JSON.stringify(text)}: X-Resume-From-Chunk must be a whole number`,
  )
}
