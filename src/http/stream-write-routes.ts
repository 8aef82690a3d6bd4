import type { Context, Hono } from 'hono'
import { checkKey } from '../core/run-streams.ts'
import { readLines } from './ndjson-body.ts'
import { OutsideWriter } from './outside-writer.ts'
import { Refusal } from './refusal.ts'
import { checkAnnouncedLength, decodeText, readBody } from './request-body.ts'
import { addRoute } from './route.ts'
import type { RouteContext } from './route-context.ts'

/** As long a chunk as may come in a body of many. */
const LINE_BYTES = 1_024 * 1_024
/** The one version of writing there is here. */
const VERSION = { version: 'v1' }

/** What writes to the streams of a run that executes in this process. */
export function addStreamWriteRoutes(app: Hono, context: RouteContext): void {
  const { gate, kernel, limits } = context
  const writer = new OutsideWriter(kernel)

  /** The run and the key, for whoever may write to it. */
  const enter = async (c: Context): Promise<readonly [runId: string, key: string]> => {
    const caller = await gate.enter(c.req.raw)
    const { runId = '', key = '' } = c.req.param()
    caller.require({ action: 'write', type: 'streams', id: runId })
    return [runId, usableKey(key)]
  }

  addRoute(app, '/realtime/v1/streams/:runId/self/:key{.+}/append', {
    POST: async (c) => {
      const [runId, key] = await enter(c)
      checkAnnouncedLength(c.req.raw, limits.chunkBytes)
      const chunk = decodeText(await readBody(c.req.raw, limits.chunkBytes))
      await writer.append(runId, key, { chunk, partId: c.req.header('x-part-id') })
      return c.json({ ok: true })
    },
  })

  addRoute(app, '/realtime/v1/streams/:runId/self/:key{.+}', {
    // HEAD is asked of GET.
    GET: async (c) => {
      const [runId, key] = await enter(c)
      if (c.req.raw.method !== 'HEAD') throw new Refusal(405, 'Method not allowed', { headers: ALLOW })
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
      const from = readIndex(c.req.header('x-resume-from-chunk'))
      const batches = readLines(c.req.raw, LINE_BYTES)
      await writer.write(runId, key, { clientId: clientOf(c), from, batches })
      return c.json({ ok: true })
    },
  })
}

const ALLOW = { allow: 'HEAD, PUT, POST' }

function usableKey(key: string): string {
  try {
    checkKey(key)
    return key
  } catch (cause) {
    throw new Refusal(400, cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** Who counts its chunks; without a name there is one for all. */
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
