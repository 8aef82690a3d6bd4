import type { Context, Hono } from 'hono'
import { checkKey } from '../../api/stream.ts'
import { readLines } from '../requests/ndjson-body.ts'
import { OutsideWriter } from './outside-writer.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { decodeText } from '../requests/text.ts'
import { addRoute } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { readStream } from './routes.ts'
import { messageOf } from '../../primitives/message.ts'

/** The longest line, and so the longest chunk, in a body of many chunks. */
const LINE_BYTES = 1_024 * 1_024
/** The longest key of a stream that is begun from outside, and the longest name of a part or a client, in characters. */
const LONGEST_NAME = 256
/** The only version of the write protocol. */
const VERSION = { version: 'v1' }

/** Routes that write to the streams of runs that execute in this process. */
export function addStreamWriteRoutes(app: Hono, context: RouteContext): void {
  const { gate, kernel, limits, turns } = context
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
      const partId = shortHeader(c, 'X-Part-Id')
      checkAnnouncedLength(c.req.raw, limits.chunkBytes)
      const chunk = decodeText(await readBody(c.req.raw, limits.chunkBytes), c.req.header('content-type'))
      await writer.append(runId, key, { chunk, partId })
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
      const batches = readLines(c.req.raw, LINE_BYTES, turns)
      await writer.write(runId, key, { clientId, from: readIndex(resumeFrom), batches })
      return c.json({ ok: true })
    },
  })
}

function usableKey(key: string): string {
  try {
    checkKey(key)
    if (key.length <= LONGEST_NAME) return key
    throw new RangeError(
      `Cannot begin a stream from outside: its key has more than ${LONGEST_NAME} characters`,
    )
  } catch (cause) {
    throw new Refusal(400, messageOf(cause), { cause })
  }
}

/** The client that numbers its chunks. Requests without an id share one. */
function clientOf(c: Context): string {
  return shortHeader(c, 'X-Client-Id') ?? 'default'
}

/** A name in a header that is remembered, so that it has to be short. */
function shortHeader(c: Context, header: string): string | undefined {
  const name = c.req.header(header)
  if (name === undefined || name.length <= LONGEST_NAME) return name
  throw new Refusal(400, `Cannot use ${header}: it has more than ${LONGEST_NAME} characters`)
}

function readIndex(text: string | undefined): number {
  const index = Number(text ?? 0)
  if (Number.isSafeInteger(index) && index >= 0) return index
  throw new Refusal(
    400,
    `Cannot resume from chunk ${JSON.stringify(text?.slice(0, 100))}: X-Resume-From-Chunk must be a whole number`,
  )
}
