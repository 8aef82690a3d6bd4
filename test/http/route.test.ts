import { Hono } from 'hono'
import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from 'waitpoint'
import { inside } from '../../src/core/inside.ts'
import { Gate } from '../../src/http/access/gate.ts'
import { readLimits } from '../../src/http/limits.ts'
import { refusalOf } from '../../src/http/refusal.ts'
import { addRoutes, group, route } from '../../src/http/route.ts'
import type { RouteContext } from '../../src/http/route-context.ts'
import { request } from './requests.ts'

function appWith(add: (app: Hono) => void): Hono {
  const app = new Hono()
  app.onError((error, c) => {
    const { body, status, headers } = refusalOf(error)
    return c.json(body, status, headers)
  })
  add(app)
  return app
}

const SAID = { id: 'x', tag: 'X', summary: 'X', answers: {}, allowed: 'open' } as const

describe('addRoutes', () => {
  const engine = createEngine({ tasks: [] })
  const gate = new Gate(inside(engine), readLimits())
  const app = appWith((each) => {
    const routes = group(
      [
        route('GET /plain/:id', SAID, () => (c) => c.text(`got ${c.req.param('id')}`)),
        route('POST /open', { ...SAID, anyOrigin: true }, () => (c) => c.text('posted')),
        route('PUT /plain/:id', SAID, () => (c) => c.text('put')),
        route('GET /long/:key{.+}', SAID, () => (c) => c.text(`key ${c.req.param('key')}`)),
        route('GET /long/of/:key{.+}', SAID, () => (c) => c.text(`of ${c.req.param('key')}`)),
        route('HEAD /long/of/:key{.+}', SAID, () => (c) => c.body(null, 204)),
      ],
      (context) => context,
    )
    // None of these needs another part of a handler.
    const context = { gate } as RouteContext
    addRoutes(each, routes.serve(context), context)
  })
  afterAll(() => engine.close())

  it('answers by method, HEAD like GET', async () => {
    for (const [method, text] of [
      ['GET', 'got 1'],
      ['PUT', 'put'],
      ['HEAD', ''],
    ] as const) {
      const answer = await app.fetch(request('http://x/plain/1', { method }))
      expect([answer.status, await answer.text()]).toEqual([200, text])
    }
  })

  it('looks at the longer path first, and has an answer to HEAD of its own where there is one', async () => {
    const ask = async (path: string, method = 'GET'): Promise<readonly [number, string]> => {
      const answer = await app.fetch(request(`http://x/long/${path}`, { method }))
      return [answer.status, await answer.text()]
    }
    expect(await ask('a/b')).toEqual([200, 'key a/b'])
    expect(await ask('of/a/b')).toEqual([200, 'of a/b'])
    expect(await ask('of/a/b', 'HEAD')).toEqual([204, ''])
    expect(await ask('a/b', 'HEAD')).toEqual([200, ''])
  })

  it.each(['POST', 'PATCH', 'DELETE', 'OPTIONS'])('refuses any other: %s', async (method) => {
    const { status, headers } = await app.fetch(request('http://x/plain/1', { method }))
    expect([status, headers.get('allow')]).toEqual([405, 'GET, PUT'])
  })

  it('lets pages of other origins in where it is told to, and nowhere else', async () => {
    const ask = (path: string): Response | Promise<Response> =>
      app.fetch(
        request(`http://x${path}`, { method: 'OPTIONS', headers: { origin: 'https://app.example.com' } }),
      )
    const { status, headers } = await ask('/open')
    expect([status, headers.get('access-control-allow-methods')]).toEqual([204, 'POST'])
    expect((await ask('/plain/1')).headers.get('access-control-allow-origin')).toBeNull()
  })
})
