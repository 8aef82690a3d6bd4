import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHandler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import {
  CountSource,
  numbers,
  PushSource,
  reportedErrors,
  sourceOf,
  watchers,
} from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'
import { accessToken, stillEngine } from '../requests.ts'
import { EventReader, get, numbered } from '../server-events.ts'

/** A task whose stream `k` is what the test pushes. */
function pushing(): { readonly source: PushSource<string>; readonly body: ReturnType<typeof taskOf> } {
  const source = new PushSource<string>()
  return { source, body: taskOf(source) }
}

function taskOf(source: AsyncIterable<unknown>, key = 'k') {
  return bodyTask(async ({ metadata }) => {
    await metadata.stream(key, source)
  })
}

/** Opens a stream over HTTP. */
async function open(t: TestEngine, path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await createHandler(t.engine)(get(path, headers))
  expect(response.status).toBe(200)
  return new EventReader(response.body)
}

const pathOf = (run: { readonly id: string }, key = 'k'): string => `/realtime/v1/streams/${run.id}/${key}`

describe('reading a stream over HTTP', () => {
  it('loses and repeats nothing, wherever the connection is cut and however often', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 400 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
        async (count, cuts) => {
          const body = taskOf(new CountSource(count))
          await using t = await stillEngine({ tasks: [body] })
          const run = await t.engine.trigger(body, null)
          const seen: unknown[] = []
          let lastId: string | undefined
          for (const cut of [...cuts, Infinity]) {
            const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
            const events = await open(t, pathOf(run), headers)
            for (let left = cut; left > 0; left--) {
              const event = await events.event()
              if (event === undefined) break
              seen.push(JSON.parse(event.data ?? ''))
              lastId = event.id
            }
            await events.return()
          }
          expect(seen).toEqual(numbers(count))
          expect(watchers(t.engine)).toBe(0)
        },
      ),
      { numRuns: cases(30) },
    ))

  it.each(['self/x', 'self/x/append', 'a/self/b', 'self'])('reads a stream called %s', async (key) => {
    const body = taskOf(sourceOf('one'), key)
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    for (const name of [key, encodeURIComponent(key)])
      expect(numbered(await (await open(t, pathOf(run, name))).rest())).toEqual([[0, 'one']])
  })

  it('fails when the access token expires, so that a client knows it is incomplete', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const errors = reportedErrors(t.engine)
    const run = await t.engine.trigger(body, null)
    const exp = Math.floor(t.clock.now() / 1_000) + 30
    const token = await accessToken([`read:runs:${run.id}`], t.clock.now(), { claims: { exp } })
    const handler = createHandler(t.engine, { limits: { subscriptions: 1 } })
    const ask = (path: string): Promise<Response> => handler(get(path, { authorization: `Bearer ${token}` }))
    const events = new EventReader((await ask(pathOf(run))).body)
    source.push('one')
    expect((await events.event())?.data).toBe('"one"')
    const next = events.event()
    await t.clock.advance('29s')
    source.push('two')
    expect((await next)?.data).toBe('"two"')
    expect((await ask(pathOf(run))).status).toBe(429)
    const last = expect(events.event()).rejects.toMatchObject({ status: 401 })
    await t.clock.advance('1s')
    await last
    expect([(await ask(pathOf(run))).status, watchers(t.engine), errors]).toEqual([401, 0, []])
    source.end()
  })

  it('is one event for each chunk, numbered from 0, with its JSON, and ends after the last one', async () => {
    const chunks = ['text\nof two lines', { type: 'text-delta' }, [1], null, 7]
    const body = taskOf(sourceOf<unknown>(...chunks))
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const response = await createHandler(t.engine)(get(pathOf(run)))
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': '*',
    })
    expect(response.headers.has('x-stream-version')).toBe(false)
    expect(numbered(await new EventReader(response.body).rest())).toEqual(
      chunks.map((chunk, index) => [index, chunk]),
    )
  })

  it('gives a chunk as soon as it is stored', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run))
    for (const chunk of ['a', 'b', 'c']) {
      source.push(chunk)
      expect(await events.event()).toMatchObject({ data: JSON.stringify(chunk) })
    }
    source.end()
    expect(await events.rest()).toEqual([])
    await t.clock.settle()
  })

  it('waits for a key that is not announced yet, and ends with a run that never announces it', async () => {
    const gate = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => {
      for await (const _ of gate) await metadata.stream('late', sourceOf('x'))
    })
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run, 'late'))
    const never = await open(t, pathOf(run, 'never'))
    gate.push('go')
    expect(await events.event()).toMatchObject({ id: '0', data: '"x"' })
    gate.end()
    expect(await events.rest()).toEqual([])
    expect(await never.rest()).toEqual([])
    await t.clock.settle()
  })

  it('reads keys with slashes and spaces', async () => {
    const body = taskOf(sourceOf('x'), 'a b/c')
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect(numbered(await (await open(t, pathOf(run, 'a%20b/c'))).rest())).toEqual([[0, 'x']])
  })

  it.each([
    ['-1', [0, 1, 2, 3]],
    ['1', [2, 3]],
    ['3', []],
    ['99', []],
    ['', [0, 1, 2, 3]],
  ])('goes on after Last-Event-ID %j', async (lastId, expected) => {
    const body = taskOf(new CountSource(4))
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle()
    const events = await open(t, pathOf(run), { 'last-event-id': lastId })
    expect(numbered(await events.rest())).toEqual(expected.map((chunk) => [chunk, chunk]))
  })

  it('begins with what is still to come for who says so', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    source.push('a', 'b')
    await t.clock.settle()
    const events = await open(t, pathOf(run), { 'x-trigger-stream-start': 'latest' })
    source.push('c')
    source.end()
    expect(numbered(await events.rest())).toEqual([[2, 'c']])
  })

  it('shows life every 15 s while nothing comes', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run))
    // The opening comment.
    expect(await events.next()).toEqual({ done: false, value: {} })
    for (const _ of numbers(3)) {
      const next = events.next()
      await turn()
      await t.clock.advance(15_000)
      expect(await next).toEqual({ done: false, value: {} })
    }
    source.end()
    expect(await events.rest()).toEqual([])
    expect(t.clock.pending().filter(({ label }) => label.startsWith('ping'))).toEqual([])
  })

  it('ends after Timeout-Seconds without a chunk', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run), { 'timeout-seconds': '20' })
    await t.clock.advance(19_000)
    source.push('a')
    expect(await events.event()).toMatchObject({ id: '0' })
    const rest = events.rest()
    await turn()
    await t.clock.advance(20_000)
    expect(await rest).toEqual([])
    expect(watchers(t.engine)).toBe(0)
    source.end()
    await t.clock.settle()
  })

  it.each([
    ['timeout-seconds', '0'],
    ['timeout-seconds', '601'],
    ['timeout-seconds', '1.5'],
    ['timeout-seconds', 'x'],
    ['last-event-id', '-2'],
    ['last-event-id', '1526919030474-55'],
  ])('refuses %s: %s with 400', async (name, value) => {
    const body = taskOf(sourceOf('x'))
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const response = await createHandler(t.engine)(get(pathOf(run), { [name]: value }))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: expect.stringContaining(value) as string })
    await t.clock.settle()
  })

  it('says that an attempt was interrupted, and goes on with the next one', async () => {
    const endless = new PushSource<string>()
    endless.push('first')
    const body = bodyTask(
      async ({ metadata, ctx }) => {
        const { number } = ctx.attempt
        const stream = await metadata.stream('k', number === 1 ? endless : sourceOf('second'))
        for await (const _ of stream) if (number === 1) throw new Error('once more')
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false } },
    )
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run))
    expect(await events.event()).toMatchObject({ id: '0', data: '"first"' })
    const rest = events.rest()
    await t.clock.advance('1m')
    const [error, ...chunks] = await rest
    expect([error?.event, JSON.parse(error?.data ?? '')]).toMatchObject([
      'error',
      { error: { code: 'ERR_STREAM_INTERRUPTED', key: 'k', next: 1 } },
    ])
    expect(numbered(chunks)).toEqual([[1, 'second']])
  })

  it('says why a stream ends before its time: its source failed, or its run was canceled', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const errors = reportedErrors(t.engine)
    const failing = await t.engine.trigger(body, null)
    source.push('a')
    source.fail(new Error('no more'))
    const [chunk, error] = await (await open(t, pathOf(failing))).rest()
    expect(chunk).toMatchObject({ id: '0' })
    expect([error?.event, error?.id, JSON.parse(error?.data ?? '')]).toEqual([
      'error',
      undefined,
      { error: { code: 'ERR_STREAM_FAILED', message: expect.stringContaining('no more') as string } },
    ])
    await t.clock.settle()
    expect(errors).toEqual([new Error('no more')])

    const canceled = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(canceled))
    await turn()
    await t.engine.runs.cancel(canceled)
    expect(await events.rest()).toMatchObject([
      { event: 'error', data: expect.stringContaining('ERR_STREAM_INTERRUPTED') as string },
    ])
  })

  it('only ends, for the published client, which would take an error for a chunk', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    source.push('a')
    source.fail(new Error('no more'))
    const events = await open(t, pathOf(run), { 'trigger-version': '4.8.3' })
    expect(numbered(await events.rest())).toEqual([[0, 'a']])
    await t.clock.settle()
  })

  it.each([{}, { 'trigger-version': '4.8.3' }])(
    'tells a reader that was too slow what it missed, and goes on from there when it comes again: %j',
    async (headers) => {
      const body = taskOf(new CountSource(30))
      await using t = await stillEngine({ tasks: [body], streams: { historyChunks: 10 } })
      const run = await t.engine.trigger(body, null)
      await t.clock.settle()
      const events = await open(t, pathOf(run), { ...headers, 'last-event-id': '4' })
      const all = await events.rest()
      const [error] = all
      // A durable storage keeps everything.
      if (error?.event === undefined) {
        expect(numbered(all)).toEqual(numbers(30, 5).map((chunk) => [chunk, chunk]))
        return
      }
      expect(all).toHaveLength(1)
      expect(JSON.parse(error.data ?? '')).toMatchObject({
        error: { code: 'ERR_STREAM_LAGGED', missed: 15, next: 20 },
      })
      const again = await open(t, pathOf(run), { ...headers, 'last-event-id': error.id ?? '' })
      expect(numbered(await again.rest())).toEqual(numbers(30, 20).map((chunk) => [chunk, chunk]))
    },
  )

  it('requires access to read the run', async () => {
    const body = taskOf(sourceOf('x'))
    await using t = await stillEngine({ tasks: [body] })
    const handler = createHandler(t.engine)
    const run = await t.engine.trigger(body, null, { tags: ['red'] })
    const statusWith = async (scopes: readonly string[]): Promise<number> => {
      const token = await accessToken(scopes, t.clock.now())
      const response = await handler(get(pathOf(run), { authorization: `Bearer ${token}` }))
      await response.body?.cancel()
      return response.status
    }
    for (const scope of [`read:runs:${run.id}`, 'read:runs', `read:tasks:${body.id}`, 'read:tags:red'])
      expect(await statusWith([scope]), scope).toBe(200)
    for (const scope of ['read:runs:run_other', 'read:tags:blue', `write:runs:${run.id}`])
      expect(await statusWith([scope]), scope).toBe(403)
    expect((await handler(get(pathOf(run), { authorization: '' }))).status).toBe(401)
    expect((await handler(get(pathOf({ id: 'run_unknown' })))).status).toBe(404)
    expect(watchers(t.engine)).toBe(0)
  })

  it('releases everything when the client leaves, by its signal or by the body, or never asked for it', async () => {
    const { source, body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const handler = createHandler(t.engine, { limits: { subscriptions: 1 } })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle()
    const atRest = [watchers(t.engine), t.clock.pending().length]
    const left = (): unknown => [watchers(t.engine), t.clock.pending().length]

    const controller = new AbortController()
    const first = await handler(new Request(get(pathOf(run)), { signal: controller.signal }))
    const events = new EventReader(first.body)
    await events.next()
    expect((await handler(get(pathOf(run)))).status).toBe(429)
    controller.abort()
    expect(await events.next()).toMatchObject({ done: true })
    expect(left()).toEqual(atRest)

    const second = await handler(get(pathOf(run)))
    await turn()
    await second.body?.cancel()
    expect(left()).toEqual(atRest)

    const head = await handler(new Request(get(pathOf(run)), { method: 'HEAD' }))
    expect([head.status, head.body]).toEqual([200, null])
    expect(left()).toEqual(atRest)
    source.end()
    await t.clock.settle()
  })

  it('breaks off when the engine closes: what is left unsaid is not the end', async () => {
    const { body } = pushing()
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run))
    await events.next()
    const broken = expect(events.next()).rejects.toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
    await turn()
    await t.engine.close()
    await broken
  })

  it('makes no more text than its reader takes', async () => {
    const chunk = 'x'.repeat(10_000)
    let made = 0
    const body = taskOf(
      (async function* () {
        for (const _ of numbers(500)) {
          made += 1
          yield chunk
        }
      })(),
    )
    await using t = await stillEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const events = await open(t, pathOf(run))
    expect(await events.event()).toMatchObject({ id: '0' })
    // The task is done long before its reader.
    await t.clock.settle()
    expect(made).toBe(500)
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED' })
    expect(await events.rest()).toHaveLength(499)
  })
})
