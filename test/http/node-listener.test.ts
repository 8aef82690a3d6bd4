import { describe, expect, it } from 'vitest'
import { createClient } from 'waitpoint/client'
import { createHandler, toNodeListener } from 'waitpoint/http'
import { collect, numbers, CountSource } from '../support/streams.ts'
import { bodyTask } from '../support/body-task.ts'
import { listening } from './listening.ts'
import { chunked, SECRET, stillEngine } from './requests.ts'

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

  it('refuses a request whose body a parser has read, before anything has changed', async () => {
    await using t = await stillEngine()
    const listener = toNodeListener(createHandler(t.engine))
    await using server = await listening((request, response) => {
      request.resume().once('end', () => listener(request, response))
    })
    const { id, url } = await t.engine.wait.createToken()
    const post = (body: string | ReadableStream): Promise<Response> =>
      fetch(server.url + new URL(url).pathname, { method: 'POST', body, duplex: 'half' })

    for (const body of ['{"yes":true}', chunked(['{"yes":true}'])]) {
      const response = await post(body)
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: expect.stringContaining('Mount the handler before body parsers') as string },
      ])
    }
    expect((await t.engine.wait.retrieveToken(id)).status).toBe('WAITING')
    expect((await post('')).status).toBe(200)
    expect((await t.engine.wait.retrieveToken(id)).output).toEqual({})
  })

  it('leaves the globals of the process as they are', async () => {
    const globals = [globalThis.Request, globalThis.Response]
    toNodeListener(async () => new Response())
    expect([globalThis.Request, globalThis.Response]).toEqual(globals)
  })
})
