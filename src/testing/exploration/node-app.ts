import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { createDeferred } from '../../primitives/deferred.ts'

/** A listener of requests, as `http.createServer` takes it: an application of Express or Koa is one. */
export type NodeApp = (request: IncomingMessage, response: ServerResponse) => unknown

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** Gives a request to a listener without a port. Resolves when the listener has ended its response. */
export async function callNodeApp(app: NodeApp, request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer())
  const written: Buffer[] = []
  const socket = socketTo(written)
  const response = new ServerResponse(incomingOf(request, { body, socket }))
  response.assignSocket(socket)
  const { promise, resolve, reject } = createDeferred<Response>()
  response.once('finish', () => resolve(readResponse(Buffer.concat(written))))
  response.once('error', reject)
  app(response.req, response)
  return promise
}

function incomingOf(
  { url, method, headers }: Request,
  { body, socket }: { readonly body: Buffer; readonly socket: Socket },
): IncomingMessage {
  const incoming = new IncomingMessage(socket)
  const { pathname, search, host } = new URL(url)
  incoming.method = method
  incoming.url = `${pathname}${search}`
  incoming.headers = { host, 'content-length': String(body.length), ...Object.fromEntries(headers) }
  // The body of a response to 1.0 is not cut into chunks.
  Object.assign(incoming, { httpVersion: '1.0', httpVersionMajor: 1, httpVersionMinor: 0, complete: true })
  if (body.length > 0) incoming.push(body)
  incoming.push(null)
  return incoming
}

/** A socket without a connection. */
function socketTo(written: Buffer[]): Socket {
  const stream = new Duplex({
    read() {
      // Nothing is received.
    },
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk)
      done()
    },
  })
  // Requests and responses use it as a stream, and may look at its address.
  return Object.assign(stream, { remoteAddress: '127.0.0.1', setTimeout: () => stream }) as unknown as Socket
}

function readResponse(bytes: Buffer): Response {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const [, code = '500', statusText = ''] = /^HTTP\/\S+ (\d+) ?(.*)$/.exec(first) ?? []
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const status = Number(code)
  const body = WITHOUT_BODY.has(status) ? null : bytes.subarray(end + 4)
  return new Response(body, { status, statusText, headers })
}
