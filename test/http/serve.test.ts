import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { createHandler, type HttpServer, serve, toNodeListener } from 'waitpoint/http'
import { runInChild } from '../clock/child-process.ts'
import { projectStorage, storageOfThisProcess } from '../support/abandon.ts'
import { freePort } from '../support/free-port.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { until } from '../support/turn.ts'
import { listening } from './listening.ts'
import { SECRET, stillEngine } from './requests.ts'

/** Only who closes a server ends its connections: of itself Node does, after five seconds without a request. */
subscribe('http.server.request.start', (message) => {
  const { server } = message as { readonly server: Server }
  server.keepAliveTimeout = 0
})

/** As they were before anything was served. */
const globals = [globalThis.Request, globalThis.Response]

const post = (url: string, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A connection on which the test says every byte itself. */
async function dial({ url }: Pick<HttpServer, 'url'>): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  // A reset is one of the ways in which it may end.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** The next request that any server of this process receives. */
function nextRequest(): Promise<IncomingMessage> {
  return new Promise((resolve) => {
    const received = (message: unknown): void => {
      unsubscribe('http.server.request.start', received)
      resolve((message as { readonly request: IncomingMessage }).request)
    }
    subscribe('http.server.request.start', received)
  })
}

/** Begins a POST whose body is still to come; resolves when the server is waiting for it. */
async function beginPost(server: HttpServer, url: string): Promise<Socket> {
  const socket = await dial(server)
  const { pathname, host } = new URL(url)
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n`,
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toContain('100 Continue')
  socket.write('2\r\n{"\r\n')
  return socket
}

/** Until a connection is over, whichever way. */
function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', () => resolve())
  })
}

describe('serve', () => {
  it('is in the URLs of tokens for as long as it listens', async () => {
    await using engine = createEngine()
    const urlOf = async (): Promise<string> => (await engine.wait.createToken()).url
    await using first = await serve(engine)
    expect(await urlOf()).toContain(`${first.url}/`)
    await first.close()
    expect(await urlOf()).toContain('http://waitpoint.invalid/')
    await using second = await serve(engine)
    expect(await urlOf()).toContain(`${second.url}/`)
  })

  it('makes the URLs of tokens work', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine)
    const { id, url } = await t.engine.wait.createToken()
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(url.startsWith(`${server.url}/api/v1/waitpoints/tokens/${id}/callback/`)).toBe(true)
    const response = await post(url, { approved: true })
    expect([response.status, await response.json()]).toEqual([200, { success: true, status: 'COMPLETED' }])
    expect((await t.engine.wait.retrieveToken(id)).output).toEqual({ approved: true })
  })

  it('makes the complete endpoint work', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine)
    const { id } = await t.engine.wait.createToken()
    const response = await fetch(`${server.url}/api/v1/waitpoints/tokens/${id}/complete`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: '{"output":1}',
    })
    expect(await response.json()).toEqual({ success: true, status: 'COMPLETED' })
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('serves under a base path, which is part of its URL', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine, { basePath: '/engine/' })
    expect(server.url).toMatch(/\/engine$/)
    const { url } = await t.engine.wait.createToken()
    expect((await post(url, 1)).status).toBe(200)
    expect((await post(url.replace('/engine', ''), 1)).status).toBe(404)
  })

  it('leaves the URLs of tokens alone when the engine has a base URL', async () => {
    await using t = await stillEngine({ baseUrl: 'https://example.com' })
    await using _server = await serve(t.engine)
    expect((await t.engine.wait.createToken()).url).toMatch(/^https:\/\/example\.com\/api/)
  })

  it.each([
    ['0.0.0.0', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['localhost', /^http:\/\/localhost:\d+$/],
  ])('listens on %s and says how it is reached', async (hostname, url) => {
    await using t = await stillEngine()
    await using server = await serve(t.engine, { hostname })
    expect(server.url).toMatch(url)
    expect((await fetch(server.url)).status).toBe(404)
  })

  it.each(['::', '::1'])('says how it is reached on %s, where there is IPv6', async (hostname) => {
    await using t = await stillEngine()
    const listening = await Promise.allSettled([serve(t.engine, { hostname })])
    for (const outcome of listening) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ERR_LISTEN_FAILED' })
      else expect(outcome.value.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
      if (outcome.status === 'fulfilled') await outcome.value.close()
    }
  })

  it('rejects when the port is in use', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine)
    const port = Number(new URL(server.url).port)
    await expect(serve(t.engine, { port })).rejects.toMatchObject({
      code: 'ERR_LISTEN_FAILED',
      message: `Cannot listen on "127.0.0.1:${port}": listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
      cause: { code: 'EADDRINUSE' },
    })
  })

  it.each([-1, 65_536, 1.5, Number.NaN])('rejects port %d', async (port) => {
    await using t = await stillEngine()
    await expect(serve(t.engine, { port })).rejects.toThrow(RangeError)
  })

  it('leaves the globals of the process alone', async () => {
    await using t = await stillEngine()
    await using _server = await serve(t.engine)
    expect([globalThis.Request, globalThis.Response]).toEqual(globals)
  })

  it('answers 400 for a host that cannot be read', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine)
    const socket = await dial(server)
    socket.end('GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/\{"error":"Bad Request"\}$/)
  })

  it.each([
    ['null', null],
    ['a port of its own', 3000],
    ['a misspelt option', { host: '0.0.0.0' }],
    ['a port that is a string', { port: '3000' }],
    ['a port there is not', { port: 65_536 }],
    ['no hostname', { hostname: '' }],
    ['limits of null', { limits: null }],
  ])('refuses options that cannot be used, before it listens: %s', async (_name, options) => {
    await using t = await stillEngine()
    await expect(serve(t.engine, options as never)).rejects.toThrow(/^Cannot use /)
    await expect(serve(null as never)).rejects.toThrow(/^Cannot use this engine/)
  })

  it('refuses a body beyond the limit, and does not take the rest of it', async () => {
    await using t = await stillEngine()
    await using _server = await serve(t.engine, { limits: { completeBytes: 100_000 } })
    const { id, url } = await t.engine.wait.createToken()
    const sending = httpRequest(url, { method: 'POST' })
    sending.on('error', () => undefined)
    const chunk = Buffer.alloc(10_000, 'x')
    const send = (): void => {
      while (!sending.destroyed && sending.write(chunk)) continue
    }
    sending.on('drain', send)
    send()
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    const { socket } = response
    expect(response.statusCode).toBe(413)
    expect(await text(response)).toBe('{"error":"Request body too large"}')
    // It never stops sending: the server hangs up.
    await ended(socket)
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('hangs up on refused uploads that stop halfway', async () => {
    await using t = await stillEngine()
    const limits = { completeBytes: 100_000, uploadBytes: 50_000 }
    await using server = await serve(t.engine, { limits })
    const { pathname, host } = new URL((await t.engine.wait.createToken()).url)
    const upload = async (length: number): Promise<Socket> => {
      const socket = await dial(server)
      socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${length}\r\n\r\nhalf`)
      return socket
    }
    const received = nextRequest()
    await upload(40_000)
    // The first one may take its time; what comes meanwhile is too much.
    await received
    for (const [length, status] of [
      [40_000, 429],
      [200_000, 413],
    ] as const) {
      const socket = await upload(length)
      const hungUp = once(socket, 'close')
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toContain(`HTTP/1.1 ${status}`)
      await hungUp
    }
  })

  it('completes nothing when the client leaves in the middle of a body whose length it said', async () => {
    await using t = await stillEngine()
    await using server = await serve(t.engine)
    const { id, url } = await t.engine.wait.createToken()
    const socket = await dial(server)
    const { pathname, host } = new URL(url)
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n`,
    )
    await once(socket, 'data')
    socket.write('{"a"')
    socket.destroy()
    await server.close()
    await t.clock.settle()
    expect(t.clock.timeline()).not.toContain('call POST')
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('completes nothing when the client leaves in the middle of its body', async () => {
    const log = vi.spyOn(console, 'error')
    await using t = await stillEngine()
    const server = await serve(t.engine)
    const { id, url } = await t.engine.wait.createToken()
    const socket = await beginPost(server, url)
    expect(t.clock.timeline()).toContain('call POST')
    socket.destroy()
    await server.close()
    // Rejects while a request still holds the time.
    await t.clock.settle()
    expect(t.clock.timeline()).not.toContain('call POST')
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
    expect(log).not.toHaveBeenCalled()
    log.mockRestore()
  })
})

describe('a client that leaves before its body is asked for', () => {
  const bodies = ['transfer-encoding: chunked\r\n\r\n2\r\n{"\r\n', 'content-length: 20000\r\n\r\n{"']

  it.each(bodies)('completes nothing: %j', async (header) => {
    const steered = steeredStorage(projectStorage())
    await using t = await stillEngine({ storage: steered.storage })
    await using server = await serve(t.engine)
    await using other = await listening(toNodeListener(createHandler(t.engine)))
    for (const { url } of [server, other]) {
      const token = await t.engine.wait.createToken()
      const goOn = steered.holdAnswer('tokens.get')
      const begun = nextRequest()
      const socket = await dial({ url })
      socket.write(`POST ${new URL(token.url).pathname} HTTP/1.1\r\nhost: test\r\n${header}`)
      const request = await begun
      const gone = new Promise((resolve) => request.once('close', resolve))
      // A body that broke off ends in an error.
      request.on('error', () => undefined)
      socket.destroy()
      await gone
      goOn()
      await until(() => !t.clock.timeline().includes('call POST'))
      expect((await t.engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }
  })
})

describe('closing a server', () => {
  it('frees the port, once, and may be asked again', async () => {
    await using t = await stillEngine()
    const port = await freePort()
    const server = await serve(t.engine, { port })
    expect(server.close()).toBe(server.close())
    await server.close()
    await using again = await serve(t.engine, { port })
    expect(again.url).toBe(server.url)
  })

  it('leaves nothing that keeps the process alive', async () => {
    const printed = await runInChild(`
      import { createEngine } from './src/index.ts'
      import { serve } from './src/http.ts'
      const engine = createEngine()
      const server = await serve(engine)
      const { url } = await engine.wait.createToken()
      const open = await fetch(url, { method: 'POST' })
      await open.text()
      await engine.close()
      const late = await fetch(url, { method: 'POST' })
      await server.close()
      console.log(open.status, late.status)
    `)
    expect(printed).toBe('200 503\n')
  })

  it('ends connections that are kept alive, and those on which nothing was ever said', async () => {
    await using t = await stillEngine()
    const server = await serve(t.engine)
    const silent = await dial(server)
    const kept = await dial(server)
    kept.write('GET / HTTP/1.1\r\nhost: engine.test\r\n\r\n')
    await once(kept, 'data')
    expect(kept.destroyed).toBe(false)
    await server.close()
    await Promise.all([ended(silent), ended(kept)])
  })

  it('cuts a request that is still arriving', async () => {
    await using t = await stillEngine()
    const server = await serve(t.engine)
    const { id, url } = await t.engine.wait.createToken()
    const socket = await beginPost(server, url)
    await server.close()
    await ended(socket)
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('answers the requests it has received, and hangs up then', async () => {
    await using t = await stillEngine()
    const server = await serve(t.engine)
    const { url } = await t.engine.wait.createToken()
    let close: Promise<void> | undefined
    // Before the answer to that request is on its way.
    t.engine.on('token', () => void (close ??= server.close()))
    const socket = await dial(server)
    const { pathname, host } = new URL(url)
    socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 1\r\n\r\n1`)
    expect(await text(socket)).toContain('{"success":true,"status":"COMPLETED"}')
    expect(close).toBeDefined()
    await close
  })

  it.each([true, false])(
    'ends an answer that is under way, for half a minute at most: read on %j',
    async (isReadOn) => {
      const large = task({ id: 'large', run: () => 'x'.repeat(40_000_000) })
      const storage = storageOfThisProcess()
      await using t = await stillEngine({ tasks: [large], storage })
      const server = await serve(t.engine)
      const run = await t.engine.trigger(large, undefined)
      await run.outcome()
      const path = `${server.url}/api/v3/runs/${run.id}`
      const asked = httpRequest(path, { headers: { authorization: `Bearer ${SECRET}` } }).end()
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      const closed = server.close()
      await t.clock.advance('29s')
      const isWhole = isReadOn ? (await text(response)).length > 40_000_000 : false
      await t.clock.advance('1s')
      await closed
      expect(isWhole).toBe(isReadOn)
      response.on('error', () => undefined).destroy()
    },
  )

  it('outlives the run that started it', async () => {
    const servers: HttpServer[] = []
    const open = task({
      id: 'open',
      run: async (_payload: { doc: string }) => {
        servers.push(await serve(engine))
        return (await wait.createToken()).url
      },
    })
    await using engine = createEngine({ tasks: [open] })
    const run = await engine.trigger(open, { doc: 'd1' })
    expect((await post(await run.result(), 1)).status).toBe(200)
    await servers[0]?.close()
  })
})
