import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'

/** Answers a request of Node. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A handler for hosts that have the requests and responses of Node, not those of the web: express, connect, a server of
 * `node:http`. Mount it before anything that reads bodies, such as `express.json()`.
 *
 * @example
 * ```ts
 * app.use('/engine', toNodeListener(createHandler(engine)))
 * ```
 */
export function toNodeListener(handler: (request: Request) => Promise<Response>): NodeListener {
  // The globals stay as they are: this is somebody else's process.
  const listener = getRequestListener(handler, { overrideGlobalObjects: false, errorHandler: badRequest })
  // The adapter answers its own failures.
  return (request, response) => void listener(request, response)
}

/** What is no request at all: a host or path that cannot be read. */
export function badRequest(): Response {
  return Response.json({ error: 'Bad Request' }, { status: 400 })
}
