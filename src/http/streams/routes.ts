import type { Context } from 'hono'
import { checkKey } from '../../api/stream.ts'
import { IDLE_SECONDS, STREAM_START } from '../../hosted/headers.ts'
import { FOLLOW_RUN_ADDRESS, READ_STREAM_ADDRESS, WRITE_STREAM_ADDRESS } from '../../hosted/addresses.ts'
import { messageOf } from '../../primitives/message.ts'
import { eventResponse } from '../events/response.ts'
import { EVENTS, FLAG, json, object, type Parameter, TEXT } from '../operation.ts'
import { Refusal } from '../refusal.ts'
import { checkAnnouncedLength, readBody } from '../requests/body.ts'
import { readLines } from '../requests/ndjson-body.ts'
import { decodeText } from '../requests/text.ts'
import { group, type Route, route, type RouteGroup } from '../route.ts'
import type { RouteContext } from '../route-context.ts'
import { requireReadableRun } from '../runs/access.ts'
import { SEND_INPUT } from './input-route.ts'
import { OutsideWriter } from './outside-writer.ts'
import { readStream } from './read.ts'
import { RunCursor } from './run-cursor.ts'
import { runEvents } from './run-events.ts'
import { RESUME_FROM, WRITER } from '../../hosted/headers.ts'

/** The longest line, and so the longest chunk, in a body of many chunks. */
const LINE_BYTES = 1_024 * 1_024
/** The longest key of a stream that is begun from outside, and the longest name of a part or a client, in characters. */
const LONGEST_NAME = 256
/** The only version of the write protocol. */
const VERSION = { version: 'v1' }

interface StreamParts extends RouteContext {
  readonly writer: OutsideWriter
}

const RUN: Parameter = { name: 'runId', in: 'path', description: 'The id of the run.' }
const KEY: Parameter = { name: 'key', in: 'path', description: 'The key of the stream; it may have slashes.' }
const READ_RUN = ['read:runs:<runId>', 'read:tasks:<task>', 'read:tags:<tag>']
const WRITE_STREAMS = ['write:streams:<runId>']
const READING: readonly Parameter[] = [
  {
    name: 'startIndex',
    in: 'query',
    description:
      'The number of the first chunk. A reader that goes on after `last-event-id` is told if the attempt was lost there; one that begins there is not.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  },
  {
    name: 'attempts',
    in: 'query',
    description:
      '`last`: without chunks that a later attempt writes again. If such were sent, an event `error` with the id -1 is the last one: read again from the start.',
    schema: { enum: ['all', 'last'], default: 'all' },
  },
  {
    name: 'until',
    in: 'query',
    description:
      '`run`: to the end of the run. Without it the answer ends at the first moment at which all sources of the stream have ended.',
    schema: { const: 'run' },
  },
  {
    name: 'last-event-id',
    in: 'header',
    description: 'The number of the last chunk that was read; reading goes on after it.',
  },
  {
    name: STREAM_START,
    in: 'header',
    description: '`latest` starts after the chunks that there are.',
  },
  {
    name: IDLE_SECONDS,
    in: 'header',
    description: 'Ends the answer after so long without a chunk.',
    schema: { type: 'integer', minimum: 1, maximum: 600 },
  },
]
const EVENTS_OF_ONE = {
  description:
    'One event for each chunk: its number as `id`, its JSON text as `data`. The answer ends after the last chunk; an event `error` says why a stream ended early.',
  content: EVENTS,
}
const CLIENT: Parameter = {
  name: WRITER,
  in: 'header',
  description: 'A name for the writer; the chunks of each are counted from 0, over all attempts of the run.',
}
const WRITTEN = { description: 'Stored.', content: json(object({ ok: FLAG })) }
const WRITING =
  'Only the process that executes the run can write: 409 in another one, 400 for a run that has ended, 422 for one stream too many.'

const routes: readonly Route<StreamParts>[] = [
  SEND_INPUT,
  // Readable without a client library: see docs/in-the-browser.md.
  route(
    FOLLOW_RUN_ADDRESS,
    {
      id: 'followRun',
      tag: 'Following',
      summary: 'Follow a run and its streams as server-sent events',
      description:
        'Events `run` with `{ "type", "run" }` and `chunk` with `{ "type", "chunk", "attempt", "sequence" }`, to the end of the run. A `run` event with the attempt of a chunk, or a later one, comes before it. The id of an event has the number of the next chunk for each key: `draft=12&log=3`. The last one ends with `;end`; 204 for a reader that has seen it.',
      allowed: ['read:runs:<id>', 'read:tasks:<task>', 'read:tags:<tag>'],
      mayHaveTokenInUrl: true,
      anyOrigin: true,
      parameters: [
        { name: 'id', in: 'path', description: 'The id of the run.' },
        { name: 'last-event-id', in: 'header', description: 'The id of the last event that was read.' },
        { name: 'lastEventId', in: 'query', description: 'Instead of the header.' },
        {
          name: 'ids',
          in: 'query',
          description:
            '`none`: events have no id, and an event `end` is the last one. For readers that make the id from `type` and `sequence`.',
          schema: { const: 'none' },
        },
        {
          name: 'streams',
          in: 'query',
          description: '`none`: the run alone, without events `chunk`.',
          schema: { const: 'none' },
        },
      ],
      answers: {
        200: { description: 'The events.', content: EVENTS },
        204: { description: 'All was read.' },
      },
      refused: [400, 404],
    },
    (context) => async (c, caller) => {
      const cursor = readCursor(c.req.header('last-event-id') ?? c.req.query('lastEventId') ?? '')
      const hasIds = !isNone(c.req.query('ids'), 'ids')
      const hasStreams = !isNone(c.req.query('streams'), 'streams')
      const { id, streams } = await requireReadableRun(context, caller, c.req.param('id'))
      cursor.keepOnly(streams)
      // An `EventSource` reconnects after the end. This status stops it.
      if (cursor.isAtEnd) return c.body(null, 204)
      const { inside } = context
      const parts = inside.streams.follow(id, hasStreams ? cursor.positions : undefined)
      return eventResponse(c, context, {
        texts: runEvents(parts, { cursor, caller, hasIds }),
        leave: () => parts.return(),
        caller,
      })
    },
  ),
  route(
    READ_STREAM_ADDRESS,
    {
      id: 'readStream',
      tag: 'Streams',
      summary: 'Read one stream of a run as server-sent events',
      allowed: READ_RUN,
      anyOrigin: true,
      parameters: [RUN, KEY, ...READING],
      answers: { 200: EVENTS_OF_ONE },
      refused: [400, 404],
    },
    (context) => (c, caller) =>
      readStream(c, context, { caller, id: c.req.param('runId'), key: c.req.param('key') }),
  ),
  route(
    'GET /realtime/v1/streams/:runId/self/:key{.+}',
    {
      id: 'readSelfStream',
      tag: 'Streams',
      summary: 'Read the stream with the key `self/{key}`',
      allowed: READ_RUN,
      parameters: [RUN, KEY, ...READING],
      answers: { 200: EVENTS_OF_ONE },
      refused: [400, 404],
    },
    (context) => (c, caller) =>
      readStream(c, context, { caller, id: c.req.param('runId'), key: `self/${c.req.param('key')}` }),
  ),
  route(
    'HEAD /realtime/v1/streams/:runId/self/:key{.+}',
    {
      id: 'lastChunk',
      tag: 'Streams',
      summary: 'Ask how far a writer has got',
      description: WRITING,
      allowed: WRITE_STREAMS,
      parameters: [RUN, KEY, CLIENT],
      answers: {
        200: {
          description: 'In the header.',
          headers: {
            'x-last-chunk-index': 'The number of the last stored chunk of this writer; -1 for none.',
          },
        },
      },
      refused: [400, 404, 409, 422],
    },
    ({ writer }) =>
      async (c) => {
        const [runId, key] = writtenStream(c)
        const last = await writer.lastIndex(runId, key, clientOf(c))
        return c.body(null, 200, { 'x-last-chunk-index': `${last}` })
      },
  ),
  route(
    'PUT /realtime/v1/streams/:runId/self/:key{.+}',
    {
      id: 'announceStream',
      tag: 'Streams',
      summary: 'List a stream on the run before its first chunk',
      description: WRITING,
      allowed: WRITE_STREAMS,
      parameters: [RUN, KEY],
      answers: { 202: { description: 'Listed.', content: json(object({ version: { const: 'v1' } })) } },
      refused: [400, 404, 409, 422],
    },
    ({ writer }) =>
      async (c) => {
        const [runId, key] = writtenStream(c)
        await writer.announce(runId, key)
        return c.json(VERSION, 202)
      },
  ),
  route(
    WRITE_STREAM_ADDRESS,
    {
      id: 'writeStream',
      tag: 'Streams',
      summary: 'Write chunks to a stream, a line of JSON for each',
      description: WRITING,
      allowed: WRITE_STREAMS,
      parameters: [
        RUN,
        KEY,
        CLIENT,
        {
          name: RESUME_FROM,
          in: 'header',
          description:
            'The number of the first chunk in the body. Chunks that were written before add nothing.',
          schema: { type: 'integer', minimum: 0 },
        },
      ],
      body: { required: true, content: { 'application/x-ndjson': TEXT } },
      answers: { 200: WRITTEN },
      refused: [404, 409, 422],
    },
    ({ writer, turns }) =>
      async (c) => {
        const [runId, key] = writtenStream(c)
        const resumeFrom = c.req.header(RESUME_FROM)
        const isNumbered = resumeFrom !== undefined || c.req.header(WRITER) !== undefined
        const clientId = isNumbered ? clientOf(c) : undefined
        const batches = readLines(c.req.raw, LINE_BYTES, turns)
        await writer.write(runId, key, { clientId, from: readIndex(resumeFrom), batches })
        return c.json({ ok: true })
      },
  ),
  route(
    'GET /realtime/v1/streams/:runId/self/:key{.+}/append',
    {
      id: 'readSelfAppendStream',
      tag: 'Streams',
      summary: 'Read the stream with the key `self/{key}/append`',
      allowed: READ_RUN,
      parameters: [RUN, KEY, ...READING],
      answers: { 200: EVENTS_OF_ONE },
      refused: [400, 404],
    },
    (context) => (c, caller) =>
      readStream(c, context, { caller, id: c.req.param('runId'), key: `self/${c.req.param('key')}/append` }),
  ),
  route(
    'POST /realtime/v1/streams/:runId/self/:key{.+}/append',
    {
      id: 'appendChunk',
      tag: 'Streams',
      summary: 'Append one chunk of text to a stream',
      description: WRITING,
      allowed: WRITE_STREAMS,
      parameters: [
        RUN,
        KEY,
        {
          name: 'x-part-id',
          in: 'header',
          description: 'A name for this chunk; sent again under it, it adds nothing.',
        },
      ],
      body: { required: true, content: { 'text/plain': TEXT, 'application/json': TEXT } },
      answers: { 200: WRITTEN },
      refused: [404, 409, 422],
    },
    ({ writer, limits }) =>
      async (c) => {
        const [runId, key] = writtenStream(c)
        const partId = shortHeader(c, 'X-Part-Id')
        checkAnnouncedLength(c.req.raw, limits.chunkBytes)
        const chunk = decodeText(await readBody(c.req.raw, limits.chunkBytes), c.req.header('content-type'))
        await writer.append(runId, key, { chunk, partId })
        return c.json({ ok: true })
      },
  ),
]

/** Routes for the streams of runs: follow a run with all of them, read one, and write to those of runs that execute in this process. */
export const STREAM_ROUTES: RouteGroup = group(routes, (context) => ({
  ...context,
  writer: new OutsideWriter(context.inside, context.limits),
}))

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

/** The run and the stream key of a request that writes. */
function writtenStream(c: Context): readonly [runId: string, key: string] {
  const { runId = '', key = '' } = c.req.param()
  return [runId, usableKey(key)]
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
  return shortHeader(c, WRITER) ?? 'default'
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
