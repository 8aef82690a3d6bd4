import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError } from 'waitpoint/client'
import { rejection } from '../../support/body-task.ts'
import { collect } from '../../support/streams.ts'
import { json, silence, StubService, textBody } from '../stub-service.ts'

const TOKEN = { id: 'waitpoint_1', isCached: false, url: 'https://api.test/t' }
const keyOf = (request: Request): string | null => request.headers.get('x-trigger-request-idempotency-key')

describe('a call', () => {
  it('is sent again as the same call until it is answered, with longer and longer pauses', async () => {
    const stub = new StubService([
      () => Promise.reject(new TypeError('fetch failed')),
      json({ error: 'busy' }, { status: 503 }),
      json({}, { status: 408 }),
      json(TOKEN, { headers: { 'x-trigger-jwt': 'a.b.c' } }),
    ])
    const created = stub.client.wait.createToken({ tags: 'a' })
    await stub.clock.settle()
    for (const [ms, asked] of [
      [499, 1],
      [1, 2],
      [999, 2],
      [1, 3],
      [2_000, 4],
    ] as const) {
      await stub.clock.advance(ms)
      expect(stub.asked).toHaveLength(asked)
    }
    expect(await created).toEqual({ ...TOKEN, publicAccessToken: 'a.b.c' })
    expect(new Set(stub.asked.map(keyOf)).size).toBe(1)
    expect(keyOf(stub.asked[0]!)).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(stub.bodies)).toEqual(new Set(['{"tags":"a"}']))
  })

  it.each([301, 302, 307, 308])('follows no redirect with its credential: %i', async (status) => {
    const location = 'https://elsewhere.test/api/v2/runs/run_1/cancel'
    const stub = new StubService([new Response(null, { status, headers: { location } })])
    const error = await rejection(stub.client.runs.cancel('run_1'))
    expect(error).toMatchObject({
      code: 'ERR_API_REFUSED',
      status,
      message: expect.stringContaining(location) as string,
    })
    expect(stub.asked.map(({ redirect }) => redirect)).toEqual(['manual'])
  })

  it.each<[status: number, asked: number, code: string | undefined]>([
    [503, 2, undefined],
    [403, 1, 'ERR_API_UNAUTHORIZED'],
  ])('goes by the status of an error that breaks off: %i', async (status, asked, code) => {
    const { body } = textBody(['{"err', new Error('reset')])
    const stub = new StubService([new Response(body, { status }), json({ id: 'run_1' })])
    const canceled = stub.client.runs.cancel('run_1').then(
      () => undefined,
      (error: unknown) => (error as ApiError).code,
    )
    await stub.clock.advance('1s')
    expect([stub.asked.length, await canceled]).toEqual([asked, code])
  })

  it('gives up after as many attempts as it may have, and says why', async () => {
    const answers = Array.from({ length: 3 }, () => json({ error: 'down' }, { status: 500 }))
    const stub = new StubService(answers, { retry: { maxAttempts: 3, minTimeoutInMs: 0 } })
    const error = await stub.clock.until(rejection(stub.client.wait.createToken()), { within: '1m' })
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'ERR_API_UNAVAILABLE', status: 500, body: { error: 'down' } })
    expect((error as Error).message).toBe(
      'Cannot POST "/api/v1/waitpoints/tokens": the service answered 500, "down" (3 attempts in 0 s)',
    )
    expect(stub.asked).toHaveLength(3)
  })

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Sat, 01 Jan 2000 00:00:09 GMT' }, 9_000],
    [{ 'x-ratelimit-reset': `${Date.UTC(2000) + 11_000}` }, 11_000],
    [{ 'retry-after': 'soon' }, 500],
  ])('waits as long as a service asks for: %j', async (headers, ms) => {
    const stub = new StubService([json({}, { status: 429, headers }), json(TOKEN)])
    const created = stub.client.wait.createToken()
    await stub.clock.advance(ms - 1)
    expect(stub.asked).toHaveLength(1)
    await stub.clock.advance(1)
    expect((await created).id).toBe(TOKEN.id)
  })

  it('does not wait for an hour', async () => {
    const stub = new StubService([json({}, { status: 429, headers: { 'retry-after': '3600' } })])
    expect(await rejection(stub.client.wait.createToken())).toMatchObject({
      status: 429,
      retryAfterMs: 3_600_000,
    })
  })

  it('is never sent again when the service will not have it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 400, max: 499 }).filter((status) => status !== 408 && status !== 429),
        fc.oneof(
          fc.constant(''),
          fc.string(),
          fc.jsonValue().map((value) => JSON.stringify(value)),
        ),
        async (status, body) => {
          const stub = new StubService([new Response(body, { status })])
          const error = await rejection(stub.client.runs.cancel('run_1'))
          expect(error).toBeInstanceOf(Error)
          expect(stub.asked).toHaveLength(1)
        },
      ),
      { numRuns: 60 },
    ))

  it('takes a service that is silent for one that is not there', async () => {
    const stub = new StubService([silence, silence], { retry: { maxAttempts: 2 }, timeout: '5s' })
    const error = rejection(stub.client.runs.retrieve('run_1'))
    await stub.clock.advance('20s')
    expect(await error).toMatchObject({ code: 'ERR_API_UNAVAILABLE', status: undefined })
    expect(stub.asked.map(({ signal }) => signal.aborted)).toEqual([true, true])
  })

  it('ends with its signal, also during a pause', async () => {
    for (const answers of [[silence], [json({}, { status: 500 })]]) {
      const stub = new StubService(answers)
      const controller = new AbortController()
      const error = rejection(stub.client.runs.retrieve('run_1', { signal: controller.signal }))
      await stub.clock.settle()
      controller.abort(new Error('enough'))
      expect(await error).toEqual(new Error('enough'))
      expect(stub.clock.pending()).toEqual([])
    }
  })

  it('asks for an access token before every attempt, and passes on what that throws', async () => {
    let count = 0
    const accessToken = async (): Promise<string> => {
      count += 1
      if (count === 3) throw new Error('signed out')
      return `token-${count}`
    }
    const stub = new StubService([json({}, { status: 500 }), json({ id: 'run_1' })], { accessToken })
    const canceled = stub.client.runs.cancel('run_1')
    await stub.clock.advance('1s')
    await canceled
    const sent = stub.asked.map(({ headers }) => headers.get('authorization'))
    expect(sent).toEqual(['Bearer token-1', 'Bearer token-2'])
    expect(await rejection(stub.client.runs.cancel('run_1'))).toEqual(new Error('signed out'))
  })

  it('refuses an answer that is not of this API', async () => {
    for (const answer of [new Response('<html>'), json([]), json({ ok: 1 }), json(null)]) {
      const stub = new StubService([answer])
      expect(await rejection(stub.client.runs.retrieve('run_1'))).toMatchObject({
        code: 'ERR_API_UNREADABLE',
      })
    }
  })

  it('does not say that a token was completed when the answer does not', async () => {
    for (const answer of [json({ ok: true }), json({ success: 'no' }), json({})]) {
      const stub = new StubService([answer])
      expect(await rejection(stub.client.wait.completeToken('waitpoint_1', 1))).toMatchObject({
        code: 'ERR_API_UNREADABLE',
      })
    }
  })

  it('takes a page for no stream, not even for an empty one', async () => {
    for (const answer of [new Response('<html>'), json([]), new Response('', { status: 200 })]) {
      const stub = new StubService([answer])
      expect(await rejection(collect(stub.client.streams.read('run_1', 'k')))).toMatchObject({
        code: 'ERR_API_UNREADABLE',
      })
      expect(stub.clock.pending()).toEqual([])
    }
  })

  it.each<[what: string, messages: readonly unknown[]]>([
    ['refetch', [{ headers: { control: 'must-refetch' } }]],
    ['go on', []],
  ])('does not follow a run round and round that says nothing but: %s', async (_what, messages) => {
    const headers = { 'electric-offset': '0_0', 'electric-handle': 'h', 'electric-schema': '{}' }
    const stub = new StubService(Array.from({ length: 100 }, () => json(messages, { headers })))
    const controller = new AbortController()
    const runs = stub.client.runs.subscribeToRun('run_1', { signal: controller.signal })
    const error = rejection(collect(runs))
    await stub.clock.advance('10m')
    expect(stub.asked.length).toBeLessThan(30)
    controller.abort()
    expect(await error).toBeInstanceOf(Error)
    expect(stub.clock.pending()).toEqual([])
  })
})
