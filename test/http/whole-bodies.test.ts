import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import type { Engine } from 'waitpoint'
import { createHandler, serve, toNodeListener } from 'waitpoint/http'
import { turn } from '../support/turn.ts'
import { listening } from './listening.ts'
import { chunked, SECRET } from './requests.ts'
import { filled, makeWorld, type RouteRow, ROUTES, type World } from './route-table.ts'
import { digestOf } from './storage-digest.ts'

/** Each route that reads a body. A replay may have one. */
const WITH_BODY: readonly RouteRow[] = [
  ...ROUTES.filter(({ body }) => body !== undefined),
  ...ROUTES.filter(({ route }) => route.endsWith('/replay')).map((row) => ({ ...row, body: {} })),
]

/** What is received of a body is good by itself: only its length tells that something is missing. */
const textOf = ({ body }: RouteRow): string => (typeof body === 'string' ? body : JSON.stringify(body))
const missing = ' '.repeat(8)

const headersOf = (row: RouteRow): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${SECRET}`,
  // Of a known client, whose chunks are numbered.
  'x-client-id': 'c',
  'content-type': row.type ?? (typeof row.body === 'string' ? 'text/plain' : 'application/json'),
})

interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer> | ReadableStream | string
}

/** Asks a route with a plain request, and says what came of it. */
async function ask({ handler, names }: World, row: RouteRow, { headers, body }: Asked): Promise<Response> {
  const [method = ''] = row.route.split(' ')
  const given = { method, headers: { ...headersOf(row), ...headers } }
  const url = `http://engine.test${filled(row.path, names)}`
  return handler(new Request(url, body === undefined ? given : { ...given, body, duplex: 'half' }))
}

const PLAIN: Readonly<Record<string, (text: string) => Asked>> = {
  'ends early': (text) => ({
    headers: { 'content-length': `${text.length + missing.length}` },
    body: chunked([text]),
  }),
  'ends before its first byte': (text) => ({
    headers: { 'content-length': `${text.length}` },
    body: chunked([]),
  }),
  'is not there': (text) => ({ headers: { 'content-length': `${text.length}` } }),
  'is longer than it said': (text) => ({ headers: { 'content-length': '1' }, body: text + missing }),
  'has a length that is none': (text) => ({ headers: { 'content-length': 'many' }, body: text }),
  'breaks off': (text) => {
    const left = [new TextEncoder().encode(text)]
    return {
      body: new ReadableStream({
        pull: (controller) => {
          const piece = left.pop()
          if (piece === undefined) controller.error(new Error('reset'))
          else controller.enqueue(piece)
        },
      }),
    }
  },
}

describe('a plain request whose body', () => {
  it.each(Object.keys(PLAIN))('%s changes nothing', async (name) => {
    await using world = await makeWorld()
    const before = await digestOf(world.t.engine)
    for (const row of WITH_BODY) {
      const response = await ask(world, row, PLAIN[name]?.(textOf(row)) ?? {})
      const isUnchanged = (await digestOf(world.t.engine)) === before
      expect([row.route, response.status, isUnchanged]).toEqual([row.route, 400, true])
    }
  })

  it('is whole does what it asks for', async () => {
    for (const row of WITH_BODY) {
      await using world = await makeWorld()
      const text = textOf(row)
      const asked = { headers: { 'content-length': `${text.length}` }, body: text }
      expect([row.route, (await ask(world, row, asked)).ok]).toEqual([row.route, true])
    }
  })

  const ENCODED: readonly (readonly [encoding: string, named: string, encode: (text: string) => Buffer])[] = [
    ['gzip', 'gzip', (text) => gzipSync(text)],
    ['GZIP', 'GZIP', (text) => gzipSync(text)],
    ['deflate', 'deflate', (text) => deflateSync(text)],
    ['br', 'br', (text) => brotliCompressSync(text)],
    ['identity, zstd', 'zstd', (text) => Buffer.from(text)],
    ['aws-chunked', 'aws-chunked', (text) => Buffer.from(text)],
    // Far beyond the limit, in 200 bytes.
    ['gzip, a bomb', 'gzip', (text) => gzipSync(text + ' '.repeat(65_536))],
  ]

  it.each(ENCODED)('has the encoding %s is refused, with its name', async (encoding, named, encode) => {
    await using world = await makeWorld()
    const before = await digestOf(world.t.engine)
    for (const row of WITH_BODY) {
      const body = new Uint8Array(encode(textOf(row)))
      expect(body.length).toBeLessThan(512)
      const response = await ask(world, row, {
        headers: { 'content-encoding': encoding.replace(', a bomb', '') },
        body,
      })
      const isUnchanged = (await digestOf(world.t.engine)) === before
      expect([row.route, response.status, isUnchanged]).toEqual([row.route, 415, true])
      expect(response.headers.get('accept-encoding')).toBe('identity')
      expect(await response.json()).toEqual({
        error: `Cannot read the request body: send it without the encoding "${named}"`,
      })
    }
  })

  it('is said to be as it is, is taken', async () => {
    await using world = await makeWorld()
    const row = WITH_BODY.find(({ route }) => route.endsWith('/complete'))!
    const asked = { headers: { 'content-encoding': 'Identity' }, body: textOf(row) }
    expect((await ask(world, row, asked)).status).toBe(200)
  })
})

interface Hosted extends AsyncDisposable {
  readonly url: string
}

type Bindings = { Bindings: HttpBindings }

function onHono(engine: Engine, before?: (response: ServerResponse) => Promise<unknown>): Promise<Hosted> {
  const handler = createHandler(engine)
  const app = new Hono<Bindings>()
  app.use(async (c, next) => {
    await before?.(c.env.outgoing)
    await next()
  })
  app.all('*', (c) => handler(c.req.raw))
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false })
  return listening((request, response) => void listener(request, response))
}

/** Until the client of a request is gone. */
const left = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.closed) resolve()
    else response.once('close', resolve)
  })

/** Hosts of Node. Some have something to do before they ask the handler, until the client has left. */
const HOSTS: Readonly<Record<string, (engine: Engine) => Promise<Hosted>>> = {
  serve: (engine) => serve(engine),
  toNodeListener: (engine) => listening(toNodeListener(createHandler(engine))),
  'toNodeListener behind what takes time': (engine) => {
    const listener = toNodeListener(createHandler(engine))
    return listening((request, response) => void left(response).then(() => listener(request, response)))
  },
  Hono: (engine) => onHono(engine),
  'Hono behind what takes time': (engine) => onHono(engine, left),
}

/** What a client sends before it leaves, after the first lines of its request. */
const CUT: Readonly<Record<string, (text: string) => string>> = {
  'with a length': (text) => `content-length: ${text.length + missing.length}\r\n\r\n${text}`,
  'with a length, before its first byte': (text) => `content-length: ${text.length}\r\n\r\n`,
  'in pieces': (text) => `transfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n`,
  'in pieces, before its first byte': () => `transfer-encoding: chunked\r\n\r\n`,
}

/** What answers the next request that a server of this process receives. */
function nextRequest(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const received = (message: unknown): void => {
      unsubscribe('http.server.request.start', received)
      resolve((message as { readonly response: ServerResponse }).response)
    }
    subscribe('http.server.request.start', received)
  })
}

/** Sends what there is of a request, and leaves when the server has it. */
async function sendAndLeave({ url }: Hosted, text: string): Promise<void> {
  const received = nextRequest()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  const response = await received
  const isGone = left(response)
  socket.destroy()
  await isGone
  await turn()
}

describe.each(Object.keys(HOSTS))('on %s, a body that its client cuts', (host) => {
  it.each(Object.keys(CUT))('%s, changes nothing', async (form) => {
    await using world = await makeWorld()
    await using server = (await HOSTS[host]?.(world.t.engine))!
    const before = await digestOf(world.t.engine)
    for (const row of WITH_BODY) {
      // The memory of another handler has these.
      if (/\$(?:batch|packet)/.test(row.path)) continue
      const { authorization, ...more } = headersOf(row)
      const lines = Object.entries({ host: 'engine.test', authorization, ...more }).map((each) =>
        each.join(': '),
      )
      const [method = ''] = row.route.split(' ')
      const head = [`${method} ${filled(row.path, world.names)} HTTP/1.1`, ...lines].join('\r\n')
      await sendAndLeave(server, `${head}\r\n${CUT[form]?.(textOf(row)) ?? ''}`)
      await world.t.clock.settle()
      expect([row.route, (await digestOf(world.t.engine)) === before]).toEqual([row.route, true])
    }
  })
})
