import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { storageOfThisProcess } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { CountSource, numbers, PushSource, sourceOf, watchers } from '../../support/streams.ts'
import { countText } from '../../support/text-count.ts'
import { turn } from '../../support/turn.ts'
import { accessToken, request, SECRET, stillEngine } from '../requests.ts'
import { EventReader, get, type ReceivedEvent } from '../server-events.ts'

interface RunPart {
  readonly type: string
  readonly run?: { readonly status: string; readonly realtimeStreams: readonly string[] }
  readonly chunk?: unknown
}

function partOf({ data }: ReceivedEvent): RunPart {
  return JSON.parse(data ?? '{}') as RunPart
}

/** An event in short: the status of a run, or a key and a chunk. */
function short(event: ReceivedEvent): unknown {
  if (event.data === undefined) return 'end'
  const { type, run, chunk } = partOf(event)
  return event.event === 'run' ? run?.status : [type, chunk]
}

const pathOf = ({ id }: { readonly id: string }): string => `/api/v1/runs/${id}/stream`

async function open(t: TestEngine, path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await createHandler(t.engine)(get(path, headers))
  expect(response.status).toBe(200)
  return new EventReader(response.body)
}

const two = bodyTask(async ({ metadata }) => {
  await metadata.stream('a', new CountSource(40))
  await metadata.stream('b & c', new CountSource(25))
})

describe('following a run by plain server-sent events', () => {
  it('resumes every stream wherever it is cut, without loss or repeat, by header or in the URL', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 30 }), { maxLength: 5 }), fc.boolean(), async (cuts, inUrl) => {
        await using t = await stillEngine({ tasks: [two] })
        const run = await t.engine.trigger(two, null)
        const chunks = new Map<string, unknown[]>()
        let lastId = ''
        let last: ReceivedEvent | undefined
        for (const cut of [...cuts, Infinity]) {
          const query = inUrl ? `?lastEventId=${encodeURIComponent(lastId)}` : ''
          const headers = inUrl ? {} : { 'last-event-id': lastId }
          const response = await createHandler(t.engine)(get(pathOf(run) + query, headers))
          // Everything was seen before it was cut.
          if (response.status === 204) break
          const events = new EventReader(response.body)
          for (let left = cut; left > 0; left--) {
            const event = await events.event()
            if (event === undefined) break
            lastId = event.id ?? lastId
            if (event.event === 'run') last = event
            const { type, chunk } = partOf(event)
            if (event.event === 'chunk') chunks.set(type, [...(chunks.get(type) ?? []), chunk])
          }
          await events.return()
        }
        expect([chunks.get('a'), chunks.get('b & c')]).toEqual([numbers(40), numbers(25)])
        expect(last === undefined ? '' : partOf(last).run?.status).toBe('COMPLETED')
        expect(watchers(t.engine)).toBe(0)
      }),
      { numRuns: cases(30) },
    ))

  it('shows the run, then chunks after a run part that lists their key, and last the run as it ended', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', source)
      return 'done'
    })
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, { doc: 'd1' } as never, { delay: '1s' })
    const events = await open(t, pathOf(run))
    const first = await events.event()
    expect(first).toMatchObject({ event: 'run', id: '' })
    expect(partOf(first ?? {})).toMatchObject({
      type: 'run',
      run: { id: run.id, status: 'DELAYED', payload: { doc: 'd1' } },
    })
    await t.clock.advance('1s')
    source.push('x')
    source.end()
    const rest = await events.rest()
    const seen = rest.map(short)
    expect(seen.filter((item) => typeof item !== 'string')).toEqual([['k', 'x']])
    const listed = rest.findIndex((event) => partOf(event).run?.realtimeStreams.includes('k') === true)
    expect(listed).toBeLessThan(seen.findIndex((item) => typeof item !== 'string'))
    expect(seen.slice(-2)).toEqual(['COMPLETED', 'end'])
  })

  it('tells an EventSource that comes again after the end not to', async () => {
    await using t = await stillEngine({ tasks: [two] })
    const run = await t.engine.trigger(two, null)
    const events = await (await open(t, pathOf(run))).rest()
    const { id = '' } = events.at(-1) ?? {}
    const response = await createHandler(t.engine)(get(pathOf(run), { 'last-event-id': id }))
    expect([response.status, response.body]).toEqual([204, null])
  })

  it('takes a public access token in the URL, and never a secret key', async () => {
    await using t = await stillEngine({ tasks: [two] })
    const handler = createHandler(t.engine)
    const run = await t.engine.trigger(two, null)
    const url = (token: string): string => `http://engine.test${pathOf(run)}?access_token=${token}`
    const withToken = async (scope: string): Promise<Response> =>
      handler(request(url(await accessToken([scope], t.clock.now())), { method: 'GET' }))
    const response = await withToken(`read:runs:${run.id}`)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await new EventReader(response.body).rest()).not.toEqual([])
    expect((await withToken('read:runs:run_other')).status).toBe(403)
    const refused = await handler(request(url(SECRET), { method: 'GET' }))
    expect([refused.status, await refused.json()]).toEqual([
      401,
      {
        error: 'Cannot take a secret key from a URL, because URLs appear in logs: use a public access token',
      },
    ])
    for (const nonsense of ['nonsense', 'a.b.c', '', '%20', '%0A', 'a%0Ab', '%00', '%E2%82%AC'])
      expect((await handler(request(url(nonsense), { method: 'GET' }))).status).toBe(401)
  })

  it.each(['x', 'k=', 'k=-1', 'k=1.5', '%=1', 'k=1&'])('refuses to go on after %j with 400', async (id) => {
    await using t = await stillEngine({ tasks: [two] })
    const run = await t.engine.trigger(two, null)
    const response = await createHandler(t.engine)(get(pathOf(run), { 'last-event-id': id }))
    expect(response.status).toBe(400)
    await t.clock.settle()
  })

  it('says the attempt and the number of each chunk, and on request no ids', async () => {
    const body = bodyTask(async ({ streams }) => {
      await streams.append('a "b"', ['x'])
      await streams.append('a "b"', null)
    })
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const chunks = [
      { type: 'a "b"', chunk: ['x'], attempt: 1, sequence: 0 },
      { type: 'a "b"', chunk: null, attempt: 1, sequence: 1 },
    ]
    const withIds = await (await open(t, pathOf(run))).rest()
    expect(withIds.filter(({ event }) => event === 'chunk').map(partOf)).toEqual(chunks)
    const events = await (
      await open(t, `${pathOf(run)}?ids=none`, { 'last-event-id': 'a%20%22b%22=1' })
    ).rest()
    expect(events.map(({ id }) => id)).toEqual(events.map(() => undefined))
    expect(events.slice(1).map(({ event, data }) => [event, event === 'chunk' ? data : ''])).toEqual([
      ['chunk', JSON.stringify(chunks[1])],
      ['run', ''],
      ['end', ''],
    ])
    const refused = await createHandler(t.engine)(get(`${pathOf(run)}?ids=all`))
    expect(refused.status).toBe(400)
  })

  it.each(['', '&streams=none'])('makes the text of a run once for all that follow it%s', async (query) => {
    const body = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    // A database in another process sends each reader a text of its own.
    await using t = await stillEngine({ tasks: [body], storage: storageOfThisProcess() })
    const payload = 'x'.repeat(10_000)
    const run = await t.engine.trigger(body, payload as never)
    await t.clock.settle()
    const handler = createHandler(t.engine)
    using made = countText()
    for (const credential of [SECRET, run.publicAccessToken]) {
      const readers = Array.from({ length: 20 }, async () => {
        const headers = { authorization: `Bearer ${credential}` }
        const response = await handler(get(`${pathOf(run)}?ids=none${query}`, headers))
        const reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>
        const { value } = await reader.read()
        expect(new TextDecoder().decode(value)).toContain(payload)
        return reader
      })
      for (const reader of await Promise.all(readers)) await reader.cancel()
    }
    // It is parsed once, and made once for each of the two kinds of credentials.
    expect(made.characters).toBeLessThan(4 * payload.length)
    await t.engine.runs.cancel(run)
  })

  it('shows the run alone on request', async () => {
    const body = bodyTask(async ({ streams, wait }) => {
      await streams.append('k', 'x')
      await wait.for({ hours: 1 })
    })
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle()
    const events = await open(t, `${pathOf(run)}?ids=none&streams=none`)
    await t.clock.advance('1h')
    const statuses = (await events.rest()).map(({ event, data }) => [
      event,
      (JSON.parse(data ?? '{}') as { readonly run?: { readonly status: string } }).run?.status,
    ])
    expect(statuses[0]).toEqual(['run', 'WAITING'])
    expect(statuses.slice(-2)).toEqual([
      ['run', 'COMPLETED'],
      ['end', undefined],
    ])
    expect(statuses.map(([event]) => event)).not.toContain('chunk')
    const refused = await createHandler(t.engine)(get(`${pathOf(run)}?streams=all`))
    expect(refused.status).toBe(400)
  })

  it('reads a key with half of a surrogate pair', async () => {
    const body = bodyTask(async ({ streams }) => streams.append('k\uD800', 'x'))
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect((await (await open(t, pathOf(run))).rest()).map(short)).toContainEqual(['k\uD800', 'x'])
  })

  it('answers 404 for a run there is none of', async () => {
    await using t = await stillEngine()
    const response = await createHandler(t.engine)(get('/api/v1/runs/run_unknown/stream'))
    expect([response.status, await response.json()]).toEqual([404, { error: 'Run not found' }])
  })

  it('tells a reader that was too slow what is gone, and goes on with the rest when it comes again', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(30))
    })
    await using t = await stillEngine({ tasks: [body], streams: { historyChunks: 10 } })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle()
    const events = await (await open(t, pathOf(run), { 'last-event-id': 'k=5' })).rest()
    const error = events.find(({ event }) => event === 'error')
    // A durable storage keeps everything.
    const from = error === undefined ? 5 : 20
    if (error !== undefined) {
      expect(JSON.parse(error.data ?? '')).toMatchObject({
        error: { code: 'ERR_STREAM_LAGGED', missed: 15, next: 20 },
      })
      expect(events.at(-1)).toBe(error)
    }
    const again =
      error === undefined
        ? events
        : await (await open(t, pathOf(run), { 'last-event-id': error.id ?? '' })).rest()
    expect(again.filter(({ event }) => event === 'chunk').map((event) => partOf(event).chunk)).toEqual(
      numbers(30, from),
    )
  })

  it('shows life while nothing happens, and lets go of everything when its client leaves', async () => {
    const body = bodyTask(async ({ wait }) => wait.for({ hours: 1 }))
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle()
    const atRest = t.clock.pending().length
    const events = await open(t, pathOf(run))
    expect(await events.next()).toMatchObject({ value: { event: 'run' } })
    const next = events.next()
    await turn()
    // A client takes a connection for dead after 15 s.
    await t.clock.advance(6_000)
    expect(await next).toEqual({ done: false, value: {} })
    await events.return()
    expect([watchers(t.engine), t.clock.pending().length]).toEqual([0, atRest])
    await t.engine.runs.cancel(run)
  })

  it('does not lose sight of a run while it reads keys that are like fields of an object', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('__proto__', sourceOf('x'))
    })
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect((await (await open(t, pathOf(run))).rest()).map(short)).toContainEqual(['__proto__', 'x'])
  })
})
