import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type HttpServer, serve } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { SECRET, stillEngine } from '../http/requests.ts'
import { bodyTask } from '../support/body-task.ts'
import { CountSource, numbers, PushSource, watchers } from '../support/streams.ts'
import { until } from '../support/turn.ts'

/** A response whose body has begun. */
async function subscribe(
  url: string,
  { agent, lastId }: { readonly agent: Agent; readonly lastId?: string | undefined },
): Promise<IncomingMessage> {
  const headers = {
    authorization: `Bearer ${SECRET}`,
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  }
  const asked = get(url, { agent, headers })
  // To be cut is what it may come to.
  asked.on('error', () => undefined)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  return response
}

/** Until a response is over: whether all of it came. */
async function ended(response: IncomingMessage): Promise<boolean> {
  response.resume()
  await new Promise<void>((resolve) => {
    if (response.closed) resolve()
    else response.once('close', () => resolve())
  })
  return response.complete
}

const waiting = bodyTask(async ({ wait, metadata }) => {
  await metadata.stream('k', new CountSource(3))
  await wait.for({ hours: 1 })
})

async function onServer(
  body: (bench: {
    readonly t: TestEngine
    readonly server: HttpServer
    readonly agent: Agent
    readonly run: { readonly id: string }
  }) => Promise<void>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  await using t = await stillEngine({ tasks: [waiting] })
  await using server = await serve(t.engine)
  const run = await t.engine.trigger(waiting, null)
  await t.clock.settle()
  await body({ t, server, agent, run })
  agent.destroy()
  await server.close()
  await t.clock.advance('1h')
  await t.engine.runs.poll(run)
}

describe('subscribers over HTTP', () => {
  it('are 1,000 at once, and are all cut when the server closes', async () => {
    await onServer(async ({ t, server, agent, run }) => {
      const path = `${server.url}/api/v1/runs/${run.id}/stream`
      const responses = await Promise.all(numbers(1_000).map(() => subscribe(path, { agent })))
      await until(() => watchers(t.engine) === 1_000)
      const cut = Promise.all(responses.map(ended))
      await server.close()
      // The client does not take it for the end of the run.
      expect(new Set(await cut)).toEqual(new Set([false]))
      await until(() => watchers(t.engine) === 0)
      expect(t.clock.pending().filter(({ label }) => label.startsWith('ping'))).toEqual([])
    })
  }, 300_000)

  it('that are held by a long poll are cut as well', async () => {
    await onServer(async ({ t, server, agent, run }) => {
      const url = `${server.url}/realtime/v1/runs/${run.id}`
      const first = await subscribe(url, { agent })
      await ended(first)
      const offset = String(first.headers['electric-offset'])
      const held = get(`${url}?live=true&offset=${offset}`, {
        agent,
        headers: { authorization: `Bearer ${SECRET}` },
      })
      const failed = once(held, 'error')
      await until(() => watchers(t.engine) === 1)
      await server.close()
      expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' })
      await until(() => watchers(t.engine) === 0)
    })
  })

  it('that leave are forgotten, whatever they were waiting for', async () => {
    await onServer(async ({ t, server, agent, run }) => {
      const stream = await subscribe(`${server.url}/realtime/v1/streams/${run.id}/other`, { agent })
      const parts = await subscribe(`${server.url}/api/v1/runs/${run.id}/stream`, { agent })
      await until(() => watchers(t.engine) === 2)
      stream.destroy()
      parts.destroy()
      await until(() => watchers(t.engine) === 0)
      expect(t.clock.pending().filter(({ label }) => label.startsWith('ping'))).toEqual([])
    })
  })

  it('that lose their connection in the middle go on where they were', async () => {
    const source = new PushSource<number>()
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', source)
    })
    const agent = new Agent({ keepAlive: true })
    await using t = await stillEngine({ tasks: [body] })
    await using server = await serve(t.engine)
    const run = await t.engine.trigger(body, null)
    const url = `${server.url}/realtime/v1/streams/${run.id}/k`
    const seen: number[] = []
    let lastId: string | undefined
    for (const round of numbers(4)) {
      const response = await subscribe(url, { agent, lastId })
      source.push(2 * round, 2 * round + 1)
      let text = ''
      for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) {
        text += piece
        if ((text.match(/^data:/gm) ?? []).length === 2) break
      }
      for (const [, id, data] of text.matchAll(/id: (\d+)\ndata: (\d+)\n\n/g)) {
        seen.push(Number(data))
        lastId = id
      }
    }
    expect(seen).toEqual(numbers(8))
    source.end()
    expect(await ended(await subscribe(url, { agent, lastId }))).toBe(true)
    agent.destroy()
  })

  it('are cut, and told nothing wrong, when the engine closes before the server', async () => {
    const agent = new Agent()
    await using t = await stillEngine({ tasks: [waiting] })
    await using server = await serve(t.engine)
    const run = await t.engine.trigger(waiting, null)
    const response = await subscribe(`${server.url}/realtime/v1/streams/${run.id}/other`, { agent })
    await until(() => watchers(t.engine) === 1)
    const over = ended(response)
    await t.engine.close()
    expect(await over).toBe(false)
    agent.destroy()
  })
})
