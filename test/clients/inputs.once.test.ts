import { expect, it } from 'vitest'
import { streams, task } from 'waitpoint'
import { cuttingProxy } from './cutting-proxy.ts'
import { client, served } from './published-client.ts'

const inbox = streams.input<{ readonly text: string }>({ id: 'messages' })

const chat = task({
  id: 'chat',
  run: async () => {
    const heard: unknown[] = []
    for (;;) {
      const next = await inbox.wait()
      if (!next.ok) return heard
      heard.push(next)
      if (next.output.text === 'bye') return heard
    }
  },
})

it('takes the messages of the published client, in order, by the secret key and by the access token of the run', async () => {
  await using app = await served([chat])
  const run = await client.tasks.trigger('chat', null)
  const sent = client.streams.input({ id: 'messages' })
  await sent.send(run.id, { text: 'hello' })
  const page = { baseURL: app.server.url, accessToken: run.publicAccessToken }
  await client.auth.withAuth(page, () => sent.send(run.id, { text: 'from the page' }))
  const ann = await app.engine.createAccessToken(
    { scopes: [`write:inputStreams:${run.id}`] },
    { by: { id: 'ann' } },
  )
  await client.auth.withAuth({ ...page, accessToken: ann }, () => sent.send(run.id, { text: 'bye' }))
  expect((await client.runs.poll(run.id, { pollIntervalMs: 10 })).output).toEqual([
    { ok: true, output: { text: 'hello' } },
    { ok: true, output: { text: 'from the page' } },
    { ok: true, output: { text: 'bye' }, by: { id: 'ann', via: 'http' } },
  ])
})

it('tells the published client why a message is refused, at the first request', async () => {
  await using app = await served([chat])
  const [run, other] = [await client.tasks.trigger('chat', null), await client.tasks.trigger('chat', null)]
  const sent = client.streams.input({ id: 'messages' })
  await expect(sent.send('run_unknown', { text: 'a' })).rejects.toThrow(client.NotFoundError)
  await expect(sent.send(run.id, { text: 'x'.repeat(1_048_577) })).rejects.toMatchObject({ status: 413 })
  const page = { baseURL: app.server.url, accessToken: other.publicAccessToken }
  await expect(client.auth.withAuth(page, () => sent.send(run.id, { text: 'a' }))).rejects.toThrow(
    client.PermissionDeniedError,
  )
  await sent.send(run.id, { text: 'bye' })
  await client.runs.poll(run.id, { pollIntervalMs: 10 })
  await expect(sent.send(run.id, { text: 'late' })).rejects.toMatchObject({ status: 409 })
  await sent.send(other.id, { text: 'bye' })
})

it('takes a message once that the published client sends again, as the answer was lost', async () => {
  await using app = await served([chat])
  const run = await client.tasks.trigger('chat', null)
  await using proxy = await cuttingProxy(app.server.url, { afterBytes: 30, atMost: 1 })
  const page = { baseURL: proxy.url, accessToken: run.publicAccessToken }
  const sent = client.streams.input({ id: 'messages' })
  const retry = { maxAttempts: 3, minTimeoutInMs: 1, maxTimeoutInMs: 1 }
  await client.auth.withAuth(page, () => sent.send(run.id, { text: 'a' }, { requestOptions: { retry } }))
  expect(proxy.cuts).toBe(1)
  await sent.send(run.id, { text: 'bye' })
  const { output } = await client.runs.poll(run.id, { pollIntervalMs: 10 })
  expect(output).toMatchObject([{ output: { text: 'a' } }, { output: { text: 'bye' } }])
})
