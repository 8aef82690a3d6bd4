import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Listening extends AsyncDisposable {
  readonly url: string
}

/** A server of Node that passes everything on; with a path, as express does it: without that path. */
export async function listening(listener: RequestListener, path = ''): Promise<Listening> {
  const server = createServer((request, response) => {
    if (request.url?.startsWith(path) !== true) return void response.writeHead(404).end()
    request.url = request.url.slice(path.length)
    listener(request, response)
  })
  // A request on a connection that Node just ends, idle for long, would be lost.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${port}${path}`, [Symbol.asyncDispose]: close }
}
