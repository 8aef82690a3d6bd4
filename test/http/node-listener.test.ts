import { describe, expect, it, vi } from 'vitest'
import type { Engine } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler, serve, toNodeListener } from 'waitpoint/http'
import { collect, numbers, CountSource, PushSource } from '../support/streams.ts'
import { bodyTask } from '../support/body-task.ts'
import { listening } from './listening.ts'
import { accessToken, chunked, SECRET, stillEngine } from './requests.ts'

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

  const hosts: readonly [string, (engine: Engine) => Promise<AsyncDisposable & { readonly url: string }>][] =
    [
      ['serve', (engine) => serve(engine)],
      ['toNodeListener', (engine) => listening(toNodeListener(createHandler(engine)))],
    ]

  it.each(hosts)('breaks answers off without a word on stderr, in %s', async (_name, host) => {
    using printed = vi.spyOn(console, 'error')
    const source = new PushSource<string>()
    source.push('a')
    const waits = bodyTask(async ({ wait, metadata }) => {
      await metadata.stream('k', source)
      await wait.for({ hours: 1 })
    })
    const t = await stillEngine({ tasks: [waits] })
    await using server = await host(t.engine)
    const run = await t.engine.trigger(waits, null)
    await t.clock.settle()
    // Of a set of runs that are many megabytes together, rows are read when they are sent.
    const large = { metadata: { text: 'x'.repeat(2_000_000) }, tags: ['large'], delay: '1h' }
    for (let at = 0; at < 16; at += 1) await t.engine.trigger(waits, null, large)
    const paths = [
      `/api/v1/runs/${run.id}/stream`,
      `/realtime/v1/streams/${run.id}/k`,
      '/realtime/v1/runs?tags=large',
    ]
    const open = (credential: string): Promise<ReadableStreamDefaultReader<Uint8Array>[]> =>
      Promise.all(
        paths.map(async (path) => {
          const headers = { authorization: `Bearer ${credential}` }
          const { body, status } = await fetch(server.url + path, { headers })
          if (status !== 200 || body === null) throw new Error(`Cannot read ${path}: ${status}`)
          return body.getReader()
        }),
      )
    const expiring = await open(await accessToken(['read:runs'], t.clock.now()))
    await t.clock.advance('2m')
    const closing = await open(SECRET)
    await t.engine.close()
    const ends = [...expiring, ...closing].map(async (reader) => {
      for (;;) if ((await reader.read()).done) return 'ended'
    })
    for (const end of await Promise.allSettled(ends)) expect(end.status).toBe('rejected')
    expect(printed).not.toHaveBeenCalled()
  })

  it('leaves the globals of the process as they are', async () => {
    const globals = [globalThis.Request, globalThis.Response]
    toNodeListener(async () => new Response())
    expect([globalThis.Request, globalThis.Response]).toEqual(globals)
  })
})
