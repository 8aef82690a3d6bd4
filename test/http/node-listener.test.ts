import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createClient } from 'waitpoint/client'
import { createHandler, toNodeListener } from 'waitpoint/http'
import { collect, numbers, CountSource } from '../support/streams.ts'
import { bodyTask } from '../support/body-task.ts'
import { SECRET, stillEngine } from './requests.ts'

/** A server of Node that passes everything on; with a path, as express does it: without that path. */
async function listening(listener: RequestListener, path = '') {
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

describe('toNodeListener', () => {
  it('serves an engine under a path of a server that is there already, streams included', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(100))
    })
    await using t = await stillEngine({ tasks: [body] })
    await using server = await listening(toNodeListener(createHandler(t.engine)), '/engine')
    const client = createClient({ baseUrl: server.url, accessToken: SECRET })
    const run = await client.tasks.trigger<typeof body>('body', null)
    expect(await collect(client.streams.read(run, 'k'))).toEqual(numbers(100))
    await run.result()
    expect((await fetch(`${server.url}/nowhere`)).status).toBe(404)
  })

  it('leaves the globals of the process as they are', async () => {
    const globals = [globalThis.Request, globalThis.Response]
    toNodeListener(async () => new Response())
    expect([globalThis.Request, globalThis.Response]).toEqual(globals)
  })
})
