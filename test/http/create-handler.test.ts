import { Hono } from 'hono'
import { mount } from 'hono/mount'
import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage, type Storage, task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { ask, completeUrl, completion, json, request, SECRET, stillEngine } from './requests.ts'

/** A memory storage of which one operation fails. */
function failing(fail: { readonly open?: Error; readonly settle?: Error }): Storage {
  const storage = memoryStorage()
  return {
    ...storage,
    open: () => (fail.open === undefined ? storage.open() : Promise.reject(fail.open)),
    tokens: {
      ...storage.tokens,
      settle: (settle) =>
        fail.settle === undefined ? storage.tokens.settle(settle) : Promise.reject(fail.settle),
    },
  }
}

async function errorOf(response: Promise<Response>): Promise<[status: number, error: unknown]> {
  const { status, headers } = await response
  expect(headers.get('content-type')).toBe('application/json')
  return [status, ((await (await response).json()) as { readonly error: unknown }).error]
}

describe('createHandler', () => {
  it.each(['/', '/api', '/api/v1/waitpoints', '/api/v1/waitpoints/tokens/x/', '/x//complete', '/%2e%2e/%'])(
    'answers 404 for %s',
    async (path) => {
      await using t = await stillEngine()
      const handler = createHandler(t.engine)
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        expect(await errorOf(handler(request(`http://engine.test${path}`, { method })))).toEqual([
          404,
          'Not found',
        ])
      }
    },
  )

  it.each([
    ['null', null],
    ['a path', '/engine'],
    ['a misspelt option', { base: '/engine' }],
    ['a basePath that is a list', { basePath: [] }],
    ['limits of null', { limits: null }],
    ['a misspelt limit', { limits: { complete: 5 } }],
    ['a limit that is no number', { limits: { completeBytes: '5' } }],
  ])('refuses options that cannot be used: %s', async (_name, options) => {
    await using t = await stillEngine()
    expect(() => createHandler(t.engine, options as never)).toThrow(/^Cannot (use|create) /)
  })

  it.each([null, undefined, 'http://engine.test/', {}, { url: '/', method: 'GET' }])(
    'rejects what is no request, and says so: %j',
    async (none) => {
      await using t = await stillEngine()
      await expect(createHandler(t.engine)(none as never)).rejects.toThrow(/^Cannot answer .* give a Request/)
    },
  )

  it('is a function that is its own fetch', async () => {
    await using t = await stillEngine()
    const handler: Handler = createHandler(t.engine)
    expect(handler.fetch).toBe(handler)
    const { fetch } = handler
    expect((await fetch(request('http://engine.test/'))).status).toBe(404)
  })

  it('serves under a path that the host takes away', async () => {
    await using t = await stillEngine({ baseUrl: 'http://engine.test/engine' })
    const app = new Hono().use('/engine/*', mount(createHandler(t.engine)))
    const { url } = await t.engine.wait.createToken()
    expect((await app.fetch(json(url, 1))).status).toBe(200)
  })

  it.each(['/engine', '/engine/', '/a/b.c~d-1'])(
    'serves under a path that the host passes on: %s',
    async (basePath) => {
      await using t = await stillEngine({ baseUrl: `http://engine.test${basePath}` })
      const handler = createHandler(t.engine, { basePath })
      const { id, url } = await t.engine.wait.createToken()
      expect((await handler(completion(id, {}))).status).toBe(404)
      expect((await handler(json(url, 1))).status).toBe(200)
    },
  )

  it.each(['engine', '/:any', '/*', '//', '/a b', 'http://x'])(
    'refuses the base path "%s"',
    async (basePath) => {
      await using t = await stillEngine()
      expect(() => createHandler(t.engine, { basePath })).toThrow(TypeError)
    },
  )

  it('refuses what is not an engine', async () => {
    await using t = await stillEngine()
    expect(() => createHandler({ ...t.engine })).toThrow(TypeError)
  })

  it('answers 503 when the engine is closed, whatever it is asked', async () => {
    const t = await stillEngine()
    const handler = createHandler(t.engine)
    const { id, url } = await t.engine.wait.createToken()
    await t.close()
    const closed = [503, 'Cannot use the engine: it is closed']
    for (const asked of [completion(id, {}), completion(id, {}, { authorization: '' }), json(url, 1)]) {
      expect(await errorOf(handler(asked))).toEqual(closed)
    }
  })

  it.each(['open', 'settle'])(
    'answers 500 when the storage fails to %s, and says why in an event',
    async (operation) => {
      // A driver may reject with anything.
      for (const failure of [new Error('disk full'), 'disk full' as unknown as Error]) {
        await using engine = createEngine({ storage: failing({ [operation]: failure }), secretKey: SECRET })
        const errors: unknown[] = []
        engine.on('error', ({ error }) => errors.push(error))
        const id = operation === 'open' ? 'waitpoint_1' : (await engine.wait.createToken()).id
        const answer = await errorOf(createHandler(engine)(completion(id, {})))
        expect(answer).toEqual([500, 'Internal Server Error'])
        expect(errors).toContain(failure)
      }
    },
  )

  it('does not ask the storage for ids that cannot exist', async () => {
    await using engine = createEngine({
      storage: failing({ settle: new Error('no such thing') }),
      secretKey: SECRET,
    })
    for (const id of ['x', '%00', 'run:run_1', `waitpoint_${'a'.repeat(65)}`]) {
      expect(await errorOf(createHandler(engine)(completion(id, {})))).toEqual([404, 'Waitpoint not found'])
    }
  })

  it('raises no event for what is wrong with a request', async () => {
    await using t = await stillEngine()
    const errors: unknown[] = []
    t.engine.on('error', ({ error }) => errors.push(error))
    const handler = createHandler(t.engine)
    await handler(completion('waitpoint_1', {}))
    await handler(completion('waitpoint_1', {}, { authorization: '' }))
    await handler(request('http://engine.test/'))
    expect(errors).toEqual([])
  })

  it("limits how often a credential asks, by the engine's clock, and tells browsers too", async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine, { limits: { rate: { requests: 2, per: '10s' } } })
    const { id, url } = await t.engine.wait.createToken()
    const origin = { origin: 'https://app.example.com' }
    for (const status of [200, 200, 429]) {
      const answer = await handler(completion(id, {}, origin))
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, '*'])
      if (status !== 429) continue
      expect(await answer.json()).toEqual({ error: 'Too many requests' })
      const reset = [answer.headers.get('retry-after'), answer.headers.get('x-ratelimit-reset')]
      expect(reset).toEqual(['5', `${t.clock.now() + 5_000}`])
    }
    // The address of a token is a credential of its own.
    const answers = [await handler(json(url, 1)), await handler(json(url, 1)), await handler(json(url, 1))]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    await t.clock.advance('5s')
    expect((await handler(completion(id, {}))).status).toBe(200)
  })

  it('limits the size of a page, also when the request names none', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine, { limits: { pageSize: 2 } })
    for (let index = 0; index < 3; index++) await t.engine.wait.createToken()
    const path = 'GET /api/v1/waitpoints/tokens'
    expect((await ask(handler, path)).body).toMatchObject({ data: { length: 2 } })
    expect((await ask(handler, `${path}?page[size]=2`)).body).toMatchObject({ data: { length: 2 } })
    expect((await ask(handler, `${path}?page[size]=3`)).status).toBe(400)
  })

  it('holds virtual time while it serves', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine)
    const { id } = await t.engine.wait.createToken()
    let send = (_text: string): void => undefined
    const body = new ReadableStream({
      start(controller) {
        send = (text) => {
          controller.enqueue(new TextEncoder().encode(text))
          controller.close()
        }
      },
    })
    const answer = handler(request(completeUrl(id), { headers: { authorization: `Bearer ${SECRET}` }, body }))
    expect(t.clock.timeline()).toContain(`call POST /api/v1/waitpoints/tokens/${id}/complete`)
    send('{}')
    expect((await answer).status).toBe(200)
    expect(t.clock.timeline()).not.toContain('call POST')
  })

  it('resumes the run that waits for the token', async () => {
    const approval = task({
      id: 'approval',
      run: async (_payload: { doc: string }) => {
        const token = await wait.createToken()
        return wait.forToken<{ approved: boolean }>(token).unwrap()
      },
    })
    await using t = await stillEngine({ tasks: [approval] })
    const run = await t.engine.trigger(approval, { doc: 'd1' })
    await t.clock.settle()
    const [token] = (await t.engine.wait.listTokens()).data
    await createHandler(t.engine)(json(token?.url ?? '', { approved: true }))
    expect(await run.result()).toEqual({ approved: true })
  })

  it('serves a request that is made in a run as one from outside', async () => {
    const answers: Promise<Response>[] = []
    const leaky = task({
      id: 'leaky',
      run: async (payload: { ask: string }) => {
        const { id } = await wait.createToken()
        const body = new ReadableStream({
          async start(controller) {
            await ended
            controller.enqueue(new TextEncoder().encode(payload.ask))
            controller.close()
          },
        })
        answers.push(
          handler(request(completeUrl(id), { headers: { authorization: `Bearer ${SECRET}` }, body })),
        )
      },
    })
    await using t = await stillEngine({ tasks: [leaky] })
    const handler = createHandler(t.engine)
    const ended = t.engine.trigger(leaky, { ask: '{}' }).then((run) => run.result())
    await ended
    expect((await answers[0])?.status).toBe(200)
  })
})
