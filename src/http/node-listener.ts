import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { setConnection } from './live-request.ts'

/** A request listener of `node:http`. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Turns a handler into a listener for hosts with the requests and responses of Node instead of those of the web: express,
 * connect, fastify, a server of `node:http`. Mount it before body parsers such as `express.json()`: a request whose body
 * is read already is answered with 400. See docs/in-your-server.md.
 *
 * @example
 * ```ts
 * app.use('/engine', toNodeListener(createHandler(engine)))
 * ```
 */
export function toNodeListener(handler: (request: Request) => Promise<Response>): NodeListener {
  // The globals stay as they are: the process belongs to the application.
  const listener = getRequestListener(
    (request, { incoming }) => {
      // The adapter would print the error of an answer that breaks off.
      setConnection(request, { outlast: () => undefined, cut: () => void incoming.socket.destroy() })
      return handler(request)
    },
    { overrideGlobalObjects: false, errorHandler: badRequest },
  )
  return (request, response) => {
    // Its client left while the host did something else: the adapter would take a body that was cut for an empty one.
    if (request.destroyed && !request.complete) return
    if (isBodyGone(request)) refuseReadBody(response)
    // The adapter answers its own failures.
    else void listener(request, response)
  }
}

/** Answers a request whose host or path cannot be read. */
export function badRequest(): Response {
  return Response.json({ error: 'Bad Request' }, { status: 400 })
}

/** Read by a parser: the adapter would take it for an empty body, and a token would be completed without its output. */
function isBodyGone(request: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  const hasBody = coding !== undefined || Number(length) > 0
  // Some hosts keep the bytes that they have read; the adapter takes them from there.
  return hasBody && request.readableDidRead && !('rawBody' in request && request.rawBody instanceof Buffer)
}

function refuseReadBody(response: ServerResponse): void {
  const error =
    'Cannot read the request body: a body parser has read it. Mount the handler before body parsers such as express.json()'
  response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
}
