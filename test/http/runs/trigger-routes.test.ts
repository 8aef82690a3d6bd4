import { describe, expect, it } from 'vitest'
import { type Engine, task } from 'waitpoint'
import { createHandler, type Handler, type HandlerLimits, serve } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { z } from 'zod'
import { accessToken, ask, OTHER_SECRET, request, SECRET, stillEngine } from '../requests.ts'

const echo = task({ id: 'a/b:c', run: (payload: unknown) => payload })
const checked = task({ id: 'checked', schema: z.object({ doc: z.string() }), run: ({ doc }) => doc })
const failing = task({
  id: 'failing',
  run: () => {
    throw new Error('no')
  },
})

const TRIGGER = `POST /api/v1/tasks/${encodeURIComponent(echo.id)}/trigger`

/** More than a stack holds of what calls itself for every level. */
const DEEP = `${'['.repeat(50_000)}${']'.repeat(50_000)}`

interface Bench {
  readonly handler: Handler
  readonly engine: Engine
  readonly clock: TestEngine['clock']
}

async function onBench(limits: HandlerLimits, body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [echo, checked, failing] })
  await body({ handler: createHandler(t.engine, { limits }), engine: t.engine, clock: t.clock })
}

async function payloadOf(engine: Engine, body: unknown): Promise<unknown> {
  return (await engine.runs.retrieve((body as { readonly id: string }).id)).payload
}

describe('triggering a run', () => {
  it('answers its id, and an access token that reads it', () =>
    onBench({}, async ({ handler, engine }) => {
      const { status, body, headers } = await ask(handler, TRIGGER, { body: { payload: { doc: 'd1' } } })
      const { id, isCached } = body as { readonly id: string; readonly isCached: boolean }
      expect([status, isCached]).toEqual([200, false])
      const { taskIdentifier, payload } = await engine.runs.retrieve(id)
      expect([taskIdentifier, payload]).toEqual(['a/b:c', { doc: 'd1' }])
      const credential = headers.get('x-trigger-jwt') ?? ''
      expect(headers.get('x-trigger-jwt-claims')).toBe('{"sub":"waitpoint","pub":true}')
      expect((await ask(handler, `GET /api/v3/runs/${id}`, { credential })).status).toBe(200)
    }))

  it.each<[type: string | undefined, payload: unknown, expected: unknown]>([
    [undefined, { a: 1 }, { a: 1 }],
    [undefined, 'text', 'text'],
    [undefined, null, null],
    [undefined, undefined, undefined],
    ['application/json', undefined, undefined],
    ['application/json', '{"a":1}', { a: 1 }],
    ['application/json', 'null', null],
    ['application/json', [1], [1]],
    [
      'application/super+json',
      '{"json":{"a":"2000-01-01"},"meta":{"values":{"a":["Date"]}}}',
      { a: '2000-01-01' },
    ],
    ['application/super+json', '{"json":null}', null],
    ['text/plain', '{"a":1}', '{"a":1}'],
    ['text/plain', '', ''],
  ])('reads a payload of type %s: %j', (payloadType, payload, expected) =>
    onBench({}, async ({ handler, engine }) => {
      const { body } = await ask(handler, TRIGGER, { body: { payload, options: { payloadType } } })
      expect(await payloadOf(engine, body)).toEqual(expected)
    }),
  )

  it('takes the options that we have, and leaves those alone that change nothing here', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const metadata = { step: 1 }
      const ours = {
        delay: '1h',
        ttl: 60,
        tags: ['a'],
        metadata,
        idempotencyKey: 'k',
        idempotencyKeyTTL: '1d',
      }
      const more = {
        maxAttempts: 2,
        maxDuration: 5,
        queue: { name: 'q' },
        concurrencyKey: 'u1',
        priority: 1.5,
      }
      const theirs = {
        machine: 'large-1x',
        region: 'eu',
        test: false,
        resumeParentOnCompletion: false,
        parentRunId: 'run_theirs',
        lockToVersion: '1',
        externalDeploymentId: 'sha',
        idempotencyKeyOptions: { key: 'k', scope: 'run' },
        payloadSize: 2,
      }
      const body = { payload: 1, options: { ...ours, ...more, ...theirs }, context: {} }
      const first = await ask(handler, TRIGGER, { body })
      expect(first).toMatchObject({ status: 200, body: { isCached: false } })
      const { id } = first.body as { readonly id: string }
      expect(await engine.runs.retrieve(id)).toMatchObject({
        status: 'DELAYED',
        tags: ['a'],
        metadata,
        idempotencyKey: 'k',
        priority: 1.5,
        delayedUntil: new Date(clock.now() + 3_600_000),
      })
      expect((await ask(handler, TRIGGER, { body })).body).toMatchObject({ id, isCached: true })
    }))

  it('puts off the run of a debounce key, which a stranger may not read', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const debounce = { key: 'k', delay: '5s', mode: 'trailing', maxDelay: '1m' }
      const trigger = (payload: unknown, credential?: string) =>
        ask(handler, TRIGGER, { body: { payload, options: { debounce } }, credential: credential ?? SECRET })
      const first = await trigger(1)
      expect(first.body).toMatchObject({ isCached: false })
      const { id } = first.body as { readonly id: string }
      await clock.advance('1s')
      const credential = await accessToken([`trigger:tasks:${echo.id}`], clock.now())
      const again = await trigger(2, credential)
      expect(again.body).toEqual({ id, isCached: true })
      expect(await engine.runs.retrieve(id)).toMatchObject({
        payload: 2,
        debounceKey: 'k',
        delayedUntil: new Date(clock.now() + 5_000),
      })
      const shown = await ask(handler, `GET /api/v3/runs/${id}`)
      expect(shown.body).toMatchObject({ debounceKey: 'k' })
      expect(shown.body).not.toHaveProperty('idempotencyKey')
    }))

  it.each<[what: string, options: object, headers: Readonly<Record<string, string>>, isFree: boolean]>([
    ['is free with freeKeyOnFailure', { freeKeyOnFailure: true }, {}, true],
    ['is free to the published client', {}, { 'trigger-version': '4.8.3' }, true],
    [
      'is not free to the published client if it says so',
      { freeKeyOnFailure: false },
      { 'trigger-version': '4.8.3' },
      false,
    ],
    ['is not free else', {}, {}, false],
  ])('with the key of a run that has failed, which %s', (_what, more, headers, isFree) =>
    onBench({}, async ({ handler, clock, engine }) => {
      const trigger = async () => {
        const body = { options: { idempotencyKey: 'k', ...more } }
        return (await ask(handler, 'POST /api/v1/tasks/failing/trigger', { body, headers })).body
      }
      expect(await trigger()).toMatchObject({ isCached: false })
      await clock.settle()
      expect(await trigger()).toMatchObject({ isCached: !isFree })
      for await (const run of engine.runs.list()) await engine.runs.poll(run)
    }),
  )

  it.each<[status: number, error: string, body: unknown]>([
    [400, 'Invalid JSON', '{'],
    [400, '"options" must be an object', { options: [] }],
    [400, 'Invalid JSON', { payload: '{', options: { payloadType: 'application/json' } }],
    [400, 'must be an object', { payload: '1', options: { payloadType: 'application/super+json' } }],
    [400, 'type "image/png"', { payload: '1', options: { payloadType: 'image/png' } }],
    [400, 'type 5', { payload: '1', options: { payloadType: 5 } }],
    [400, 'Cannot find the payload "x"', { payload: 'x', options: { payloadType: 'application/store' } }],
    [400, 'delay "soon"', { options: { delay: 'soon' } }],
    [400, 'delay', { options: { delay: null } }],
    [400, 'ttl', { options: { ttl: {} } }],
    [400, 'metadata', { options: { metadata: [] } }],
    [400, 'maxAttempts 0', { options: { maxAttempts: 0 } }],
    [400, 'queue', { options: { queue: 'q' } }],
    [400, '"queue.concurrencyLimit"', { options: { queue: { name: 'q', concurrencyLimit: 1 } } }],
    [400, 'debounce.delay "soon"', { options: { debounce: { key: 'k', delay: 'soon' } } }],
    [400, 'a debounce.key of 11 characters', { options: { debounce: { key: 'x'.repeat(11), delay: '1s' } } }],
    [400, 'debounce', { options: { debounce: true } }],
    [400, 'with an idempotencyKey', { options: { debounce: { key: 'k', delay: 1 }, idempotencyKey: 'k' } }],
    [400, 'freeKeyOnFailure 1', { options: { freeKeyOnFailure: 1 } }],
    [400, '"concurrency"', { options: { concurrency: [{ total: 1 }] } }],
    [400, '"gates"', { options: { gates: [{ queue: 'q' }] } }],
    [400, '"resumeParentOnCompletion"', { options: { resumeParentOnCompletion: true } }],
    [400, '"dependentAttempt"', { options: { dependentAttempt: 'attempt_1' } }],
    [400, '"test"', { options: { test: true } }],
    [400, '"dely": use delay, debounce, ttl', { options: { dely: '1h' } }],
    [400, '"toString"', '{"options":{"toString":1}}'],
    [400, 'priority null', { options: { priority: null } }],
    [400, 'priority 3000000', { options: { priority: 3_000_000 } }],
    [400, 'concurrencyKey', { options: { concurrencyKey: '' } }],
    [400, 'an idempotencyKey of 11 characters', { options: { idempotencyKey: 'x'.repeat(11) } }],
    [422, 'Runs can only have 2 tags', { options: { tags: ['a', 'b', 'c'] } }],
    [413, 'Request body too large', { payload: 'x'.repeat(101_000) }],
    [400, 'is not JSON', '{"payload":1e999}'],
    [400, 'idempotencyKey', `{"options":{"idempotencyKey":${DEEP}}}`],
    [400, 'tag', `{"options":{"tags":${DEEP}}}`],
  ])('is refused with %i %s', (status, error, body) =>
    onBench({ keyLength: 10, tags: 2, triggerBytes: 100_500 }, async ({ handler, engine }) => {
      const answer = await ask(handler, TRIGGER, { body })
      expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(error) as string } })
      expect((await engine.runs.list()).data).toEqual([])
    }),
  )

  it('says what the schema of the task says, and which task there is none of', () =>
    onBench({}, async ({ handler }) => {
      const wrong = await ask(handler, 'POST /api/v1/tasks/checked/trigger', {
        body: { payload: { doc: 1 } },
      })
      expect(wrong).toMatchObject({ status: 422, body: { error: expect.stringContaining('doc') as string } })
      expect(await ask(handler, 'POST /api/v1/tasks/other/trigger', { body: {} })).toMatchObject({
        status: 404,
        body: { error: 'Task not found' },
      })
    }))

  it('takes an access token for this task, from browsers too', () =>
    onBench({}, async ({ handler, clock }) => {
      const credential = await accessToken([`trigger:tasks:${echo.id}`], clock.now())
      const headers = { origin: 'https://app.example.com' }
      const mine = await ask(handler, TRIGGER, { credential, headers, body: {} })
      expect([mine.status, mine.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
      expect(
        (await ask(handler, 'POST /api/v1/tasks/checked/trigger', { credential, body: {} })).status,
      ).toBe(403)
      expect((await ask(handler, 'POST /api/v1/tasks/other/trigger', { credential, body: {} })).status).toBe(
        403,
      )
    }))

  it('does not do again what a client repeats because it lost the answer', () =>
    onBench({}, async ({ handler, engine }) => {
      const repeated = { body: {}, headers: { 'x-trigger-request-idempotency-key': 'uuid' } }
      const answers = await Promise.all([1, 2, 3].map(() => ask(handler, TRIGGER, repeated)))
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect((await engine.runs.list()).data).toHaveLength(1)
      // A request of another caller is a different one.
      await ask(handler, TRIGGER, { ...repeated, credential: OTHER_SECRET })
      expect((await engine.runs.list()).data).toHaveLength(2)
    }))

  it('takes an access token for one use once, and not when nothing came of it', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const scopes = [`trigger:tasks:${echo.id}`]
      const credential = await accessToken(scopes, clock.now(), { claims: { otu: true } })
      expect((await ask(handler, TRIGGER, { credential, body: { options: { delay: 'soon' } } })).status).toBe(
        400,
      )
      const answers = await Promise.all([1, 2, 3].map(() => ask(handler, TRIGGER, { credential, body: {} })))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
      expect((await engine.runs.list()).data).toHaveLength(1)
    }))
})

describe('a payload that is sent ahead', () => {
  interface Place {
    readonly presignedUrl: string
    readonly storagePath: string
  }

  async function reserve(handler: Handler, credential = SECRET): Promise<Place> {
    const { status, body } = await ask(handler, 'PUT /api/v2/packets/trigger%2Fpayload.json', { credential })
    expect(status).toBe(200)
    return body as Place
  }

  it('goes to the address under which it was asked for, wherever a server listens', async () => {
    await using t = await stillEngine()
    await using _server = await serve(t.engine)
    const handler = createHandler(t.engine, { basePath: '/engine' })
    const { body } = await ask(handler, 'PUT http://public.test/engine/api/v2/packets/x')
    expect((body as Place).presignedUrl).toMatch(/^http:\/\/public\.test\/engine\/api\/v2\/packets\/packet_/)
    await using other = await stillEngine({ baseUrl: 'https://given.test' })
    const given = await reserve(createHandler(other.engine))
    expect(given.presignedUrl).toMatch(/^https:\/\/given\.test\/api\/v2/)
  })

  const put = (handler: Handler, { presignedUrl }: Place, body: string): Promise<Response> =>
    handler(
      request(presignedUrl, { method: 'PUT', headers: { 'content-type': 'application/super+json' }, body }),
    )

  const triggerWith = (
    handler: Handler,
    { storagePath }: Place,
    credential = SECRET,
  ): ReturnType<typeof ask> =>
    ask(handler, TRIGGER, {
      credential,
      body: { payload: storagePath, options: { payloadType: 'application/store' } },
    })

  it('becomes the payload of the run, and is gone then', () =>
    onBench({}, async ({ handler, engine }) => {
      const place = await reserve(handler)
      const large = 'x'.repeat(200_000)
      expect((await put(handler, place, JSON.stringify({ json: { large } }))).status).toBe(200)
      const { body } = await triggerWith(handler, place)
      expect(await payloadOf(engine, body)).toEqual({ large })
      expect((await triggerWith(handler, place)).status).toBe(400)
    }))

  it('may say its charset', () =>
    onBench({}, async ({ handler, engine }) => {
      const place = await reserve(handler)
      const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
      await handler(request(place.presignedUrl, { method: 'PUT', headers, body: '"ä"' }))
      expect(await payloadOf(engine, (await triggerWith(handler, place)).body)).toBe('ä')
    }))

  it('is still there when the trigger failed', () =>
    onBench({}, async ({ handler }) => {
      const place = await reserve(handler)
      await put(handler, place, '{"json":1}')
      const body = {
        payload: place.storagePath,
        options: { payloadType: 'application/store', delay: 'soon' },
      }
      expect((await ask(handler, TRIGGER, { body })).status).toBe(400)
      expect((await triggerWith(handler, place)).status).toBe(200)
    }))

  it('is for the caller that reserved its place', () =>
    onBench({}, async ({ handler, clock }) => {
      const place = await reserve(handler)
      await put(handler, place, '{"json":1}')
      expect((await triggerWith(handler, place, OTHER_SECRET)).status).toBe(400)
      const token = await accessToken(['trigger:tasks', 'admin'], clock.now())
      expect((await ask(handler, 'PUT /api/v2/packets/x', { credential: token })).status).toBe(403)
    }))

  it('goes nowhere without the key of its place', () =>
    onBench({}, async ({ handler }) => {
      const { presignedUrl, storagePath } = await reserve(handler)
      for (const url of [
        presignedUrl.slice(0, -1),
        presignedUrl.replace(storagePath, 'packet_0'),
        `${presignedUrl}0`,
      ]) {
        expect((await put(handler, { presignedUrl: url, storagePath }, '{}')).status).toBe(401)
      }
      expect((await triggerWith(handler, { presignedUrl, storagePath })).status).toBe(400)
    }))

  it('is kept for five minutes at most', () =>
    onBench({}, async ({ handler, clock }) => {
      const place = await reserve(handler)
      await put(handler, place, '{"json":1}')
      await clock.advance(299_999)
      const other = await reserve(handler)
      await clock.advance(1)
      expect((await triggerWith(handler, place)).status).toBe(400)
      expect((await put(handler, place, '{}')).status).toBe(401)
      expect((await put(handler, other, '{}')).status).toBe(200)
    }))

  it('has its limits: each, together, and how many, for every credential', () =>
    onBench({ triggerBytes: 500, packetBytes: 900, packets: 3 }, async ({ handler }) => {
      const places = [await reserve(handler), await reserve(handler), await reserve(handler)] as const
      expect((await put(handler, places[0], 'x'.repeat(501))).status).toBe(413)
      const most = `{"json":"${'x'.repeat(489)}"}`
      expect((await put(handler, places[0], most)).status).toBe(200)
      expect((await put(handler, places[0], most)).status).toBe(200)
      expect((await put(handler, places[1], most)).status).toBe(429)
      const refused = await ask(handler, 'PUT /api/v2/packets/x')
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
      await put(handler, await reserve(handler, OTHER_SECRET), most)
      expect((await triggerWith(handler, places[0])).status).toBe(200)
      expect((await put(handler, places[1], most)).status).toBe(200)
      await reserve(handler)
    }))

  it('is sent to where the request came in, or to where the engine is known to be', async () => {
    const path = 'PUT http://front.test/engine/api/v2/packets/api%2Fv2%2Fpackets'
    for (const [baseUrl, expected] of [
      [undefined, 'http://front.test/engine/api/v2/packets/'],
      ['https://public.test/e', 'https://public.test/e/api/v2/packets/'],
    ] as const) {
      await using t = await stillEngine(baseUrl === undefined ? {} : { baseUrl })
      const handler = createHandler(t.engine, { basePath: '/engine' })
      const { presignedUrl } = (await ask(handler, path)).body as Place
      expect(presignedUrl.startsWith(`${expected}packet_`)).toBe(true)
    }
  })
})
