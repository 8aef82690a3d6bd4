import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, memoryStorage, task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { createTestEngine } from 'waitpoint/testing'
import { countSignatures } from '../../support/signatures.ts'
import {
  accessToken,
  ask,
  chunked,
  completeUrl,
  completion,
  json,
  OTHER_SECRET,
  request,
  type RequestParts,
  SECRET,
  stillEngine,
} from '../requests.ts'

const BY_POST = 'Method not allowed: a POST to this address completes the token (docs/waitpoints.md)'
const UNKNOWN = 'waitpoint_00000000000000000000000000'

async function answerOf(response: Promise<Response>): Promise<[status: number, body: unknown]> {
  const { status } = await response
  return [status, await (await response).json()]
}

/** What became of a token: its status, and its output when it has one. */
async function stateOf(engine: Engine, id: string): Promise<unknown> {
  const { status, output } = await engine.wait.retrieveToken(id)
  return output === undefined ? status : [status, output]
}

interface Bench {
  readonly handler: Handler
  readonly engine: Engine
  readonly now: () => number
  readonly advance: (ms: number) => Promise<void>
}

/** Gives the test an engine of its own, with its handler. */
async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine()
  await body({
    handler: createHandler(t.engine),
    engine: t.engine,
    now: () => t.clock.now(),
    advance: (ms) => t.clock.advance(ms),
  })
}

describe('the complete endpoint', () => {
  it('completes with the output, or with the data of the published client', () =>
    onBench(async ({ handler, engine }) => {
      for (const body of [{ output: { approved: true } }, { data: { approved: true } }]) {
        const { id } = await engine.wait.createToken()
        const won = { success: true, status: 'COMPLETED' }
        expect(await answerOf(handler(completion(id, body)))).toEqual([200, won])
        expect(await stateOf(engine, id)).toEqual(['COMPLETED', { approved: true }])
      }
    }))

  it('completes without an output by {}', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      expect((await handler(completion(id, {}))).status).toBe(200)
      expect(await engine.wait.retrieveToken(id)).not.toHaveProperty('output')
      expect(await stateOf(engine, id)).toBe('COMPLETED')
    }))

  it('takes whichever JSON, also what is special to objects', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      const output =
        '{"__proto__":{"admin":true},"constructor":1,"at":"2030-01-31T00:00:00.000Z","lone":"\\ud800"}'
      const headers = { authorization: `Bearer ${SECRET}` }
      await handler(request(completeUrl(id), { headers, body: `{"output":${output}}` }))
      expect(JSON.stringify((await engine.wait.retrieveToken(id)).output)).toBe(output)
    }))

  it('tells who did not win, and changes nothing then', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      await handler(completion(id, { output: 1 }))
      const lost = { success: false, status: 'COMPLETED' }
      expect(await answerOf(handler(completion(id, { output: 2 })))).toEqual([200, lost])
      expect(await stateOf(engine, id)).toEqual(['COMPLETED', 1])
    }))

  it('tells the published client what its schema knows: true', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      await handler(completion(id, { output: 1 }))
      const again = completion(id, { data: 2 }, { 'trigger-version': '4.8.3' })
      expect(await answerOf(handler(again))).toEqual([200, { success: true, status: 'COMPLETED' }])
      expect(await stateOf(engine, id)).toEqual(['COMPLETED', 1])
    }))

  it('lets exactly one of many at once win', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const requests = [
        completion(id, { output: 0 }),
        json(url, 1),
        completion(id, { data: 2 }),
        json(url, 3),
      ]
      const answers = await Promise.all(requests.map((each) => answerOf(handler(each))))
      const winners = answers.flatMap(([, body], index) =>
        (body as { success: boolean }).success ? [index] : [],
      )
      expect(winners).toHaveLength(1)
      expect(await stateOf(engine, id)).toEqual(['COMPLETED', winners[0]])
    }))

  it('completes a millisecond before the deadline, and not at it', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine)
    const early = await t.engine.wait.createToken({ timeout: '10m' })
    await t.clock.advance(600_000 - 1)
    expect(await answerOf(handler(completion(early.id, {})))).toEqual([
      200,
      { success: true, status: 'COMPLETED' },
    ])
    const late = await t.engine.wait.createToken({ timeout: '10m' })
    await t.clock.advance(600_000)
    expect(await answerOf(handler(completion(late.id, {})))).toEqual([
      200,
      { success: false, status: 'TIMED_OUT' },
    ])
  })

  it('does not complete at the deadline even when no timer has fired yet', async () => {
    let now = 1_000_000
    const clock = { now: () => now, setTimer: () => () => undefined }
    await using engine = createEngine({ clock, secretKey: SECRET })
    const handler = createHandler(engine)
    const { id, url } = await engine.wait.createToken({ timeout: 1_000 })
    now += 1_000
    const late = { success: false, status: 'TIMED_OUT' }
    expect(await answerOf(handler(completion(id, { output: 1 })))).toEqual([200, late])
    expect(await answerOf(handler(json(url, 1)))).toEqual([200, late])
  })

  it('answers 404 for a token there is none of', () =>
    onBench(async ({ handler }) => {
      const notFound = [404, { error: 'Waitpoint not found' }]
      for (const id of [
        UNKNOWN,
        'x',
        'run_1',
        'waitpoint_',
        'waitpoint_a_b',
        '..%2f',
        '%00',
        '%E0%A4%A',
        'ä',
      ]) {
        expect(await answerOf(handler(completion(id, {})))).toEqual(notFound)
      }
    }))

  it.each<[why: string, error: string, body: RequestParts['body']]>([
    ['is missing', 'Request body is empty', undefined],
    ['is empty', 'Request body is empty', ''],
    ['is not JSON', 'Invalid JSON', '{"output":'],
    ['is null', 'Invalid JSON', 'null'],
    ['is not UTF-8', 'Cannot read the request body: it is not UTF-8', Uint8Array.of(0xff)],
    ['is an array', 'Validation error: the body must be an object with "output" (or "data")', '[]'],
    ['has both', 'Validation error: give "output" or "data", not both', '{"output":1,"data":1}'],
    ['has neither', 'Validation error: the body has neither "output" nor "data"', '{"a":1}'],
  ])('answers 400 when the body %s', (_why, error, body) =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      const headers = { authorization: `Bearer ${SECRET}` }
      const bad = request(completeUrl(id), { headers, ...(body === undefined ? {} : { body }) })
      expect(await answerOf(handler(bad))).toEqual([400, { error }])
      expect(await stateOf(engine, id)).toBe('WAITING')
    }),
  )

  it.each(['['.repeat(90_000) + ']'.repeat(90_000), '1e999', '{"a":-1e999}'])(
    'answers 400 for what can be parsed but not kept (%#)',
    (output) =>
      onBench(async ({ handler, engine }) => {
        const { id, url } = await engine.wait.createToken()
        const headers = { authorization: `Bearer ${SECRET}` }
        const bad = request(completeUrl(id), { headers, body: `{"output":${output}}` })
        const [status, body] = await answerOf(handler(bad))
        expect([status, body]).toEqual([400, { error: expect.stringContaining('is not JSON') as string }])
        const called = request(url, { headers: { 'content-type': 'application/json' }, body: output })
        expect((await handler(called)).status).toBe(400)
        expect(await stateOf(engine, id)).toBe('WAITING')
      }),
  )

  it('answers 413 for more than 3 MiB, announced or not', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const headers = { authorization: `Bearer ${SECRET}` }
      const most = `"${'x'.repeat(3 * 1_024 * 1_024 - 2)}"`
      const tooLarge = [413, { error: 'Request body too large' }]
      for (const target of [completeUrl(id), url]) {
        const parts = chunked([most, 'x'])
        expect(await answerOf(handler(request(target, { headers, body: parts })))).toEqual(tooLarge)
        const announced = request(target, {
          headers: { ...headers, 'content-length': '3145729' },
          body: '{}',
        })
        expect(await answerOf(handler(announced))).toEqual(tooLarge)
      }
      expect(await stateOf(engine, id)).toBe('WAITING')
      expect((await handler(request(url, { body: most }))).status).toBe(200)
    }))

  it('takes another limit', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine, { limits: { completeBytes: 15 } })
    const { id, url } = await t.engine.wait.createToken()
    expect((await handler(completion(id, { output: 'xxx' }))).status).toBe(413)
    expect((await handler(request(url, { body: 'x'.repeat(16) }))).status).toBe(413)
    expect((await handler(completion(id, { output: 'xx' }))).status).toBe(200)
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity])('refuses a limit of %d', async (completeBytes) => {
    await using t = await stillEngine()
    expect(() => createHandler(t.engine, { limits: { completeBytes } })).toThrow(RangeError)
  })
})

describe('credentials', () => {
  it.each([`Bearer ${SECRET}`, `Bearer ${OTHER_SECRET}`, `bearer ${SECRET}`, `BEARER   ${SECRET}`])(
    'are the secret keys: %s',
    (authorization) =>
      onBench(async ({ handler, engine }) => {
        const { id } = await engine.wait.createToken()
        expect((await handler(completion(id, {}, { authorization }))).status).toBe(200)
      }),
  )

  it.each([
    ['', 'Invalid or Missing API key'],
    [SECRET, 'Invalid or Missing API key'],
    ['Bearer', 'Invalid or Missing API key'],
    [`Basic ${SECRET}`, 'Invalid or Missing API key'],
    ['Bearer undefined', 'Invalid API key'],
    [`Bearer ${SECRET}x`, 'Invalid API key'],
    [`Bearer ${SECRET.slice(0, -1)}`, 'Invalid API key'],
    [`Bearer ${SECRET}, Bearer ${SECRET}`, 'Invalid API key'],
    ['Bearer a.b.c', 'Public Access Token is invalid'],
    ['Bearer ..', 'Public Access Token is invalid'],
  ])('are not "%s"', (authorization, error) =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      const response = await handler(completion(id, {}, { authorization }))
      expect([response.status, await response.json()]).toEqual([401, { error }])
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(await stateOf(engine, id)).toBe('WAITING')
    }),
  )

  it('are asked for before anything else is looked at', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      const unauthorized = { authorization: 'Bearer wrong' }
      const large = { ...unauthorized, 'content-length': '3145729' }
      expect((await handler(completion(UNKNOWN, {}, unauthorized))).status).toBe(401)
      expect((await handler(completion(id, { a: 1 }, large))).status).toBe(401)
    }))

  it('are asked for, and what they are good for, before anything is read of a body', () =>
    onBench(async ({ handler, now }) => {
      const authorization = `Bearer ${await accessToken(['read:waitpoints'], now())}`
      for (const url of [completeUrl(UNKNOWN), completeUrl('').replace('//complete', '')]) {
        const pulls: unknown[] = []
        const body = new ReadableStream({ pull: () => void pulls.push(1) }, { highWaterMark: 0 })
        const response = await handler(request(url, { headers: { authorization }, body }))
        expect([response.status, pulls]).toEqual([403, []])
      }
    }))

  it('are, for one token, its own access token', () =>
    onBench(async ({ handler, engine }) => {
      const [mine, other] = [await engine.wait.createToken(), await engine.wait.createToken()]
      const headers = { authorization: `Bearer ${mine.publicAccessToken}` }
      const forbidden = {
        error: 'Unauthorized',
        code: 'unauthorized',
        param: 'access_token',
        type: 'authorization',
      }
      expect(await answerOf(handler(completion(other.id, {}, headers)))).toEqual([403, forbidden])
      expect(await stateOf(engine, other.id)).toBe('WAITING')
      expect((await handler(completion(mine.id, {}, headers))).status).toBe(200)
    }))

  it.each([['write:waitpoints'], ['read:runs', 'write:all'], ['admin']])(
    'are an access token with the scope: %s',
    (...scopes) =>
      onBench(async ({ handler, engine, now }) => {
        for (const key of [SECRET, OTHER_SECRET]) {
          const { id } = await engine.wait.createToken()
          const headers = { authorization: `Bearer ${await accessToken(scopes, now(), { key })}` }
          expect((await handler(completion(id, {}, headers))).status).toBe(200)
        }
      }),
  )

  it.each<[why: string, scopes: unknown]>([
    ['no scopes', undefined],
    ['others', ['read:waitpoints', 'write:runs']],
    ['a text for scopes', 'admin'],
    ['numbers for scopes', [1, null, { admin: true }]],
  ])('forbid with %s', (_why, scopes) =>
    onBench(async ({ handler, engine, now }) => {
      const { id } = await engine.wait.createToken()
      const headers = { authorization: `Bearer ${await accessToken(scopes, now())}` }
      expect((await handler(completion(id, {}, headers))).status).toBe(403)
      expect(await stateOf(engine, id)).toBe('WAITING')
    }),
  )

  it.each<[why: string, options: NonNullable<Parameters<typeof accessToken>[2]>]>([
    ['signed with another key', { key: 'sk_third' }],
    ['signed with another algorithm', { alg: 'HS512' }],
    ['of another issuer', { claims: { iss: 'https://example.com' } }],
    ['for another audience', { claims: { aud: 'https://example.com' } }],
    ['without an end', { claims: { exp: undefined } }],
    ['without a subject', { claims: { sub: undefined } }],
    ['for a nameless', { claims: { sub: '' } }],
    ['that is not public', { claims: { pub: 'true' } }],
    ['that does not say it is public', { claims: { pub: undefined } }],
  ])('are no access token %s', (_why, options) =>
    onBench(async ({ handler, engine, now }) => {
      const { id } = await engine.wait.createToken()
      const headers = { authorization: `Bearer ${await accessToken(['admin'], now(), options)}` }
      const invalid = { error: 'Public Access Token is invalid' }
      expect(await answerOf(handler(completion(id, {}, headers)))).toEqual([401, invalid])
    }),
  )

  it('are no unsigned access token', () =>
    onBench(async ({ handler, engine, now }) => {
      const { id } = await engine.wait.createToken()
      const [, claims] = (await accessToken(['admin'], now())).split('.')
      const none = Buffer.from('{"alg":"none"}').toString('base64url')
      const headers = { authorization: `Bearer ${none}.${claims}.` }
      expect((await handler(completion(id, {}, headers))).status).toBe(401)
    }))

  it("expire by the engine's clock", async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine)
    const token = await t.engine.wait.createToken({ timeout: '26h' })
    const short = await accessToken(['admin'], t.clock.now())
    await t.clock.advance(59_999)
    const other = await t.engine.wait.createToken()
    expect((await handler(completion(other.id, {}, { authorization: `Bearer ${short}` }))).status).toBe(200)
    await t.clock.advance(1)
    expect((await handler(completion(token.id, {}, { authorization: `Bearer ${short}` }))).status).toBe(401)
    // Its own lasts as long as the token itself.
    const own = { authorization: `Bearer ${token.publicAccessToken}` }
    await t.clock.advance('25h')
    expect((await handler(completion(token.id, {}, own))).status).toBe(200)
    await t.clock.advance('1h')
    expect((await handler(completion(token.id, {}, own))).status).toBe(401)
  })
})

describe('a token that is settled', () => {
  /** A large body, and how often it was read from. */
  function watchedBody(): { readonly body: ReadableStream; readonly reads: () => number } {
    let reads = 0
    const pull = (controller: ReadableStreamDefaultController): void => {
      reads += 1
      controller.enqueue(new Uint8Array(1_024))
    }
    return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), reads: () => reads }
  }

  it('is answered before a large body is read', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      await engine.wait.completeToken(id, 1)
      for (const address of [url, completeUrl(id)]) {
        const { body, reads } = watchedBody()
        const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
        const answer = await answerOf(handler(request(address, { headers, body })))
        expect(answer).toEqual([200, { success: false, status: 'COMPLETED' }])
        expect(reads()).toBe(0)
      }
    }))

  it('is timed out by being asked for at its deadline', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine)
    const { id, url } = await t.engine.wait.createToken({ timeout: '1s' })
    const { body } = watchedBody()
    await t.clock.advance('1s')
    expect(await answerOf(handler(request(url, { body })))).toEqual([
      200,
      { success: false, status: 'TIMED_OUT' },
    ])
    expect(await stateOf(t.engine, id)).toBe('TIMED_OUT')
  })
})

describe('the URL of a token', () => {
  it('completes it with the body of a POST, without credentials', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const won = { success: true, status: 'COMPLETED' }
      expect(await answerOf(handler(json(url, { approved: true })))).toEqual([200, won])
      expect(await stateOf(engine, id)).toEqual(['COMPLETED', { approved: true }])
      expect(await answerOf(handler(json(url, 2)))).toEqual([200, { success: false, status: 'COMPLETED' }])
    }))

  it.each<[body: string, output: unknown, parts: RequestParts]>([
    ['no', {}, {}],
    ['a JSON', null, { headers: { 'content-type': 'application/json' }, body: 'null' }],
    ['a text', 'yes', { body: 'yes' }],
    ['a form', { a: ['1', '2'] }, { body: new URLSearchParams('a=1&a=2') }],
    [
      'a chunked',
      { a: 1 },
      { headers: { 'content-type': 'application/json' }, body: chunked(['{"a"', ':1}']) },
    ],
  ])('takes %s body', (_body, output, parts) =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      expect((await handler(request(url, parts))).status).toBe(200)
      expect(await stateOf(engine, id)).toEqual(['COMPLETED', output])
    }),
  )

  it('completes nothing with broken JSON, a file, or bytes that are no text', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const file = new FormData()
      file.append('scan', new Blob(['...']), 'scan.pdf')
      const bodies: readonly RequestParts[] = [
        { headers: { 'content-type': 'application/json' }, body: '{"a":' },
        { body: file },
        { body: Uint8Array.of(0xff, 0xfe) },
      ]
      for (const parts of bodies) expect((await handler(request(url, parts))).status).toBe(400)
      expect(await stateOf(engine, id)).toBe('WAITING')
    }))

  it('is refused with another hash, whether the token exists or not', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const hash = url.slice(-64)
      const others = ['0', hash.slice(1), `${hash}0`, hash.toUpperCase(), '0'.repeat(64), '%00', 'ä']
      const refused = [401, { error: "Invalid URL, hash doesn't match" }]
      for (const other of others) {
        expect(await answerOf(handler(json(url.replace(hash, other), 1)))).toEqual(refused)
        expect(await answerOf(handler(json(url.replace(hash, other).replace(id, UNKNOWN), 1)))).toEqual(
          refused,
        )
      }
      expect(await answerOf(handler(json(url.replace(id, UNKNOWN), 1)))).toEqual(refused)
      expect(await stateOf(engine, id)).toBe('WAITING')
    }))

  it('is refused before the engine has read what signs it', async () => {
    await using t = await stillEngine()
    const { id } = await t.engine.wait.createToken()
    await using fresh = createEngine({ storage: memoryStorage(), clock: t.clock })
    const { createHmac } = await import('node:crypto')
    const guess = createHmac('sha256', '').update(id.slice('waitpoint_'.length)).digest('hex')
    const url = completeUrl(id).replace(/complete$/, `callback/${guess}`)
    expect((await createHandler(fresh)(json(url, 1))).status).toBe(401)
  })

  it('answers 404 when the token is gone', async () => {
    await using t = await stillEngine({ retention: { maxCount: 0 } })
    const { url } = await t.engine.wait.createToken()
    const [, id = ''] = /tokens\/(\w+)/.exec(url) ?? []
    const shorter = url.replace(id, id.slice('waitpoint_'.length))
    const notFound = [404, { error: 'Waitpoint not found' }]
    const handler = createHandler(t.engine, { limits: { rate: { requests: 1, per: '1h' } } })
    for (const prefix of ['', '', 'other_'])
      expect(await answerOf(handler(json(shorter.replace(/(?<=tokens\/)/, prefix), 1)))).toEqual(notFound)
  })

  it('is the same, like the access token, on every read and after a restart', async () => {
    const storage = memoryStorage()
    const options = { storage, secretKey: SECRET, baseUrl: 'https://example.com/engine/' }
    const key = { idempotencyKey: 'k' }
    await using first = createEngine(options)
    const token = await first.wait.createToken(key)
    expect(token.url).toMatch(
      /^https:\/\/example\.com\/engine\/api\/v1\/waitpoints\/tokens\/waitpoint_\w+\/callback\/[0-9a-f]{64}$/,
    )
    expect(token.url).toBe(token.url)
    expect((await first.wait.retrieveToken(token.id)).url).toBe(token.url)

    await using second = createEngine(options)
    const { url, publicAccessToken, isCached } = await second.wait.createToken(key)
    expect({ url, publicAccessToken, isCached }).toEqual({
      url: token.url,
      publicAccessToken: token.publicAccessToken,
      isCached: true,
    })
    const handler = createHandler(second, { basePath: '/engine' })
    expect((await handler(json(token.url, 1))).status).toBe(200)
  })

  it('costs nothing, like the access token, until it is read', () =>
    onBench(async ({ engine }) => {
      using signatures = countSignatures()
      const tokens = await Promise.all(Array.from({ length: 1_000 }, () => engine.wait.createToken()))
      for await (const { id } of engine.wait.listTokens({ limit: 100 })) await engine.wait.retrieveToken(id)
      expect(signatures.count).toBe(0)
      const [one] = tokens
      expect([one?.url, one?.publicAccessToken, one?.url, one?.publicAccessToken]).not.toContain(undefined)
      expect(signatures.count).toBe(2)
    }))
})

describe('creating a token', () => {
  const TOKENS = 'POST /api/v1/waitpoints/tokens'

  it('does not create another when a client repeats itself because it lost the answer', () =>
    onBench(async ({ handler, engine }) => {
      const repeated = { body: {}, headers: { 'x-trigger-request-idempotency-key': 'uuid' } }
      const answers = await Promise.all([1, 2, 3].map(() => ask(handler, TOKENS, repeated)))
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect((await engine.wait.listTokens()).data).toHaveLength(1)
    }))

  it('answers its id, its address, and an access token that completes it', () =>
    onBench(async ({ handler, engine }) => {
      const body = { timeout: '2h', tags: ['a', 'b'], idempotencyKey: 'k', idempotencyKeyTTL: '1d' }
      const created = await ask(handler, TOKENS, { body })
      const { id, url } = created.body as { readonly id: string; readonly url: string }
      const token = await engine.wait.retrieveToken(id)
      expect(token).toMatchObject({ url, tags: ['a', 'b'], idempotencyKey: 'k' })
      expect(token.timeoutAt.getTime() - token.createdAt.getTime()).toBe(7_200_000)
      const jwt = created.headers.get('x-trigger-jwt') ?? ''
      const link = expect.stringContaining(`/answer/${id}/`) as string
      expect(created.body).toEqual({ id, url, link, isCached: false, publicAccessToken: jwt })
      expect(JSON.parse(created.headers.get('x-trigger-jwt-claims') ?? '')).toEqual({
        sub: 'waitpoint',
        pub: true,
      })
      expect((await ask(handler, TOKENS, { body })).body).toMatchObject({ id, isCached: true })
      expect((await handler(completion(id, {}, { authorization: `Bearer ${jwt}` }))).status).toBe(200)
    }))

  it('takes the defaults with {}', () =>
    onBench(async ({ handler, engine }) => {
      const { body } = await ask(handler, TOKENS, { body: {} })
      const token = await engine.wait.retrieveToken((body as { id: string }).id)
      expect(token.timeoutAt.getTime() - token.createdAt.getTime()).toBe(600_000)
    }))

  it.each<[status: number, error: string, body: unknown]>([
    [400, 'Request body is empty', undefined],
    [400, 'Invalid JSON', '{'],
    [400, 'Invalid JSON', '0'],
    [400, 'Validation error: the body must be an object', '[]'],
    [400, 'Cannot read timeout "soon"', { timeout: 'soon' }],
    [400, 'Cannot use timeout "1999-12-31"', { timeout: '1999-12-31' }],
    [400, 'Cannot read timeout: it is of type "boolean"', { timeout: true }],
    [400, 'Cannot read idempotencyKeyTTL "1x"', { idempotencyKeyTTL: '1x' }],
    [400, 'Cannot use idempotencyKey ""', { idempotencyKey: '' }],
    [400, 'Cannot use an idempotencyKey of 2049 characters', { idempotencyKey: 'x'.repeat(2_049) }],
    [400, 'Cannot use tag ""', { tags: [''] }],
    [400, 'Cannot use tag 5', { tags: [5] }],
    [400, 'Cannot use tags', { tags: {} }],
    [400, 'there is no option "timeOut"', { timeOut: '1h' }],
    [
      422,
      "Waitpoints can only have 10 tags, you're trying to set 11.",
      { tags: Array.from({ length: 11 }, String) },
    ],
    [413, 'Request body too large', { idempotencyKey: 'x'.repeat(10_240) }],
  ])('is refused with %i %s', (status, error, body) =>
    onBench(async ({ handler, engine }) => {
      const answer = await ask(handler, TOKENS, body === undefined ? {} : { body })
      expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(error) as string } })
      expect((await engine.wait.listTokens()).data).toEqual([])
    }),
  )

  it('is for secret keys only', () =>
    onBench(async ({ handler, now }) => {
      const credential = await accessToken(['admin'], now())
      expect((await ask(handler, TOKENS, { credential, body: {} })).status).toBe(403)
      expect((await ask(handler, TOKENS, { credential: OTHER_SECRET, body: {} })).status).toBe(200)
    }))
})

describe('listing tokens', () => {
  const TOKENS = 'GET /api/v1/waitpoints/tokens'

  interface Listed {
    readonly data: readonly { readonly id: string; readonly url: string; readonly status: string }[]
    readonly pagination: { readonly next?: string; readonly previous?: string }
  }

  async function list(handler: Handler, query: string): Promise<Listed> {
    const { status, body } = await ask(handler, `${TOKENS}?${query}`)
    expect([status, body]).toEqual([200, expect.anything()])
    return body as Listed
  }

  it('walks through all pages there and back, newest first', () =>
    onBench(async ({ handler, engine }) => {
      const ids: string[] = []
      for (let index = 0; index < 7; index++) ids.unshift((await engine.wait.createToken()).id)
      const pages: Listed[] = []
      for (let after = ''; ;) {
        const page = await list(handler, `page[size]=3&page[after]=${after}`)
        pages.push(page)
        if (page.pagination.next === undefined) break
        after = page.pagination.next
      }
      expect(pages.map(({ data }) => data.map(({ id }) => id))).toEqual([
        ids.slice(0, 3),
        ids.slice(3, 6),
        ids.slice(6),
      ])
      const back = await list(handler, `page[size]=3&page[before]=${pages.at(-1)?.pagination.previous}`)
      expect(back.data.map(({ id }) => id)).toEqual(ids.slice(3, 6))
    }))

  it('answers the page before, also to who still says after what it came', () =>
    onBench(async ({ handler, engine }) => {
      const ids: string[] = []
      for (let index = 0; index < 7; index++) ids.unshift((await engine.wait.createToken()).id)
      const last = await list(handler, `page[size]=3&page[after]=${ids[5]}`)
      const both = `page[after]=${ids[5]}&page[before]=${last.pagination.previous}`
      const back = await list(handler, `page[size]=3&${both}`)
      expect(back.data.map(({ id }) => id)).toEqual(ids.slice(3, 6))
    }))

  it('shows the run that made a token to secret keys alone', async () => {
    const asks = task({
      id: 'asks',
      run: async () => (await wait.createToken({ tags: ['made'] })).id,
    })
    await using t = await createTestEngine({ tasks: [asks], secretKey: SECRET })
    const run = await t.engine.trigger(asks, undefined)
    const id = await run.result()
    const handler = createHandler(t.engine)
    const credential = await accessToken(['read:waitpoints'], t.clock.now())
    for (const path of [`GET /api/v1/waitpoints/tokens/${id}`, 'GET /api/v1/waitpoints/tokens']) {
      const { body } = await ask(handler, path)
      expect(JSON.stringify(body)).toContain(`"runId":"${run.id}"`)
      const shown = await ask(handler, path, { credential })
      expect(JSON.stringify(shown.body)).toContain('"tags":["made"]')
      expect(JSON.stringify(shown.body)).not.toContain(run.id)
    }
  })

  it('shows the runs that wait for a token to secret keys alone', async () => {
    const asks = task({ id: 'asks', run: (id: string) => wait.forToken(id).unwrap() })
    await using t = await createTestEngine({ tasks: [asks], secretKey: SECRET })
    const { id } = await t.engine.wait.createToken()
    const run = await t.engine.trigger(asks, id)
    await t.clock.settle()
    const handler = createHandler(t.engine)
    const credential = await accessToken(['read:waitpoints'], t.clock.now())
    const path = `GET /api/v1/waitpoints/tokens/${id}`
    expect((await ask(handler, path)).body).toMatchObject({ waitingRuns: [run.id] })
    expect((await ask(handler, path, { credential })).body).not.toHaveProperty('waitingRuns')
    await t.engine.wait.completeToken(id)
    expect((await ask(handler, path)).body).not.toHaveProperty('waitingRuns')
  })

  it('shows what a token has, never as null, and never its output', () =>
    onBench(async ({ handler, engine, now }) => {
      const token = await engine.wait.createToken({ tags: ['b', 'a'], idempotencyKey: 'k', timeout: '1h' })
      await engine.wait.completeToken(token, { secret: 1 })
      const at = (ms: number): string => new Date(now() + ms).toISOString()
      expect((await list(handler, '')).data).toEqual([
        {
          id: token.id,
          url: token.url,
          status: 'COMPLETED',
          tags: ['b', 'a'],
          createdAt: at(0),
          timeoutAt: at(3_600_000),
          completedAt: at(0),
          idempotencyKey: 'k',
          idempotencyKeyExpiresAt: at(3_600_000),
        },
      ])
      const other = await engine.wait.createToken()
      expect((await list(handler, 'filter[status]=WAITING')).data).toEqual([
        {
          id: other.id,
          url: other.url,
          status: 'WAITING',
          tags: [],
          createdAt: at(0),
          timeoutAt: at(600_000),
        },
      ])
    }))

  it.each([
    ['filter[status]=COMPLETED', [0]],
    ['filter[status]=COMPLETED,TIMED_OUT', [1, 0]],
    ['filter[status]=COMPLETED&filter[status]=WAITING', [2, 0]],
    ['filter%5Bstatus%5D=WAITING%2CTIMED_OUT', [2, 1]],
    ['filter[tags]=a', [1, 0]],
    ['filter[tags]=b,c', [2, 1]],
    ['filter[idempotencyKey]=k', [2]],
    ['filter[createdAt][period]=10m', [2]],
    ['filter[createdAt][from]=2000-01-01T00:00:01Z', [2, 1]],
    ['filter[createdAt][from]=946684801000', [2, 1]],
    ['filter[createdAt][to]=946684800000', [0]],
    ['filter[status]=&page[after]=', [2, 1, 0]],
    ['unrelated=1', [2, 1, 0]],
  ])('filters: %s', (query, expected) =>
    onBench(async ({ handler, engine, advance }) => {
      const first = await engine.wait.createToken({ tags: ['a'] })
      await engine.wait.completeToken(first)
      await advance(1_000)
      const second = await engine.wait.createToken({ tags: ['a', 'b'], timeout: 1 })
      await advance(1_200_000)
      const third = await engine.wait.createToken({ tags: ['c'], idempotencyKey: 'k' })
      const ids = [first.id, second.id, third.id]
      const { data } = await list(handler, query)
      expect(data.map(({ id }) => ids.indexOf(id))).toEqual(expected)
    }),
  )

  it.each([
    ['page[size]=0', 'page[size] "0"'],
    ['page[size]=101', 'page[size] "101"'],
    ['page[size]=1e1', 'page[size] "1e1"'],
    ['page[after]=%00', 'page[after]'],
    ['page[after]=a&page[after]=b', 'page[after] is given more than once'],
    ['filter[status]=DONE', 'status "DONE"'],
    ['filter[state]=WAITING', '"filter[state]"'],
    ['filter=WAITING', '"filter"'],
    ['filter[createdAt][period]=soon', 'period "soon"'],
    ['filter[createdAt][period]=0', 'period "0"'],
    ['filter[createdAt][from]=yesterday', 'filter[createdAt][from] "yesterday"'],
    ['filter[createdAt][to]=9e99', 'filter[createdAt][to] "9e99"'],
    ['filter[createdAt][to]=99999999999999999', 'filter[createdAt][to]'],
  ])('names what cannot be asked: %s', (query, error) =>
    onBench(async ({ handler }) => {
      expect(await ask(handler, `${TOKENS}?${query}`)).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining(error) as string },
      })
    }),
  )

  it('takes an access token for all tokens only', () =>
    onBench(async ({ handler, now }) => {
      const [all, one] = [['read:waitpoints'], ['read:waitpoints:waitpoint_1']]
      expect((await ask(handler, TOKENS, { credential: await accessToken(all, now()) })).status).toBe(200)
      expect((await ask(handler, TOKENS, { credential: await accessToken(one, now()) })).status).toBe(403)
    }))
})

describe('retrieving a token', () => {
  const get = (handler: Handler, id: string): ReturnType<typeof ask> =>
    ask(handler, `GET /api/v1/waitpoints/tokens/${id}`)

  it.each([[null], [0], [''], [{ a: [1] }], ['text']])('has the output as text: %j', (output) =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      await engine.wait.completeToken(id, output)
      expect((await get(handler, id)).body).toMatchObject({
        id,
        status: 'COMPLETED',
        output: JSON.stringify(output),
        outputType: 'application/json',
        outputIsError: false,
      })
    }),
  )

  it('has no output while there is none', () =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      const { body } = await get(handler, id)
      expect(body).toMatchObject({ id, url, status: 'WAITING', outputIsError: false })
      expect(Object.keys(body as object)).not.toContain('output')
      await engine.wait.completeToken(id)
      expect(Object.keys((await get(handler, id)).body as object)).not.toContain('output')
      expect(Object.values((await get(handler, id)).body as object)).not.toContain(null)
    }))

  it('has the error of a time-out as output', () =>
    onBench(async ({ handler, engine, advance }) => {
      const { id } = await engine.wait.createToken({ timeout: 1_000 })
      await advance(1_000)
      const { body } = await get(handler, id)
      expect(body).toMatchObject({ status: 'TIMED_OUT', outputIsError: true })
      expect(JSON.parse((body as { output: string }).output)).toEqual({
        code: 'TRIGGER_WAITPOINT_TIMEOUT',
        message: 'Waitpoint timed out at 2000-01-01T00:00:01.000Z',
      })
    }))

  it('is 404 for one there is none of, and 403 for one the caller may not read', () =>
    onBench(async ({ handler, engine, now }) => {
      for (const id of [UNKNOWN, 'x', '%00'])
        expect(await get(handler, id)).toMatchObject({ status: 404, body: { error: 'Waitpoint not found' } })
      const [mine, other] = [await engine.wait.createToken(), await engine.wait.createToken()]
      const credential = await accessToken([`read:waitpoints:${mine.id}`], now())
      const path = 'GET /api/v1/waitpoints/tokens'
      expect((await ask(handler, `${path}/${mine.id}`, { credential })).status).toBe(200)
      expect((await ask(handler, `${path}/${other.id}`, { credential })).status).toBe(403)
    }))
})

describe('methods', () => {
  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('%s is answered with 405', (method) =>
    onBench(async ({ handler, engine }) => {
      const { id, url } = await engine.wait.createToken()
      for (const target of [completeUrl(id), url]) {
        const headers = { authorization: `Bearer ${SECRET}` }
        const response = await handler(request(target, { method, headers }))
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
        const told = await response.text()
        if (method === 'HEAD') expect(told).toBe('')
        else
          expect(JSON.parse(told)).toEqual({
            error: target === url ? BY_POST : 'Method not allowed',
          })
        // It is a page for machines, and leads to nothing that can do more.
        expect(told).not.toContain('/answer/')
      }
      expect(await stateOf(engine, id)).toBe('WAITING')
    }),
  )
})

describe('CORS', () => {
  const origin = 'https://app.example.com'

  it('lets browsers of every origin complete with an access token, and read every answer', () =>
    onBench(async ({ handler, engine }) => {
      const { id } = await engine.wait.createToken()
      const asked = {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      }
      const preflight = request(completeUrl(id), { method: 'OPTIONS', headers: { origin, ...asked } })
      const { status, headers } = await handler(preflight)
      expect(status).toBe(204)
      expect(Object.fromEntries(headers)).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'authorization',
      })
      const wrong = { origin, authorization: 'Bearer wrong' }
      for (const answered of [completion(id, {}, { origin }), completion(id, {}, wrong)]) {
        expect(Object.fromEntries((await handler(answered)).headers)).toMatchObject({
          'access-control-allow-origin': '*',
          'access-control-expose-headers': '*',
        })
      }
    }))

  it('is nowhere else', () =>
    onBench(async ({ handler, engine }) => {
      const { url } = await engine.wait.createToken()
      const headers = { origin }
      const preflight = await handler(request(url, { method: 'OPTIONS', headers }))
      expect(preflight.status).toBe(405)
      const answers = [
        preflight,
        await handler(request(url, { headers })),
        await handler(request('http://x/')),
      ]
      for (const answer of answers) expect([...answer.headers.keys()].join()).not.toContain('access-control')
    }))
})
