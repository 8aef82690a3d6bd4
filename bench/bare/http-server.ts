import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'

/** A running bare server. */
export interface BareServer {
  readonly url: string
  close(): Promise<void>
}

/** A hono handler that reads a JSON body, compares a bearer key and answers JSON. It does nothing else. */
export function serveBareCompletions(secret: string): Promise<BareServer> {
  const app = new Hono()
  app.post('/api/v1/waitpoints/tokens/:id/complete', async (c) => {
    if (c.req.header('authorization') !== `Bearer ${secret}`) return c.json({ error: 'Unauthorized' }, 401)
    const { output } = await c.req.json<{ readonly output: unknown }>()
    return c.json({ success: output !== undefined, status: 'COMPLETED' })
  })
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false })
  return listen(createServer((incoming, outgoing) => void listener(incoming, outgoing)))
}

/** Sends the same event to every connection. */
export class BareEvents {
  readonly #responses = new Set<ServerResponse>()
  readonly #server: Server
  #told = 0

  constructor() {
    this.#server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      this.#responses.add(response)
    })
  }

  listen(): Promise<BareServer> {
    return listen(this.#server)
  }

  tell(value: unknown): void {
    const text = `id: ${this.#told++}\ndata: ${JSON.stringify(value)}\n\n`
    for (const response of this.#responses) response.write(text)
  }
}

async function listen(server: Server): Promise<BareServer> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The server listens on a port, so its address is an object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
