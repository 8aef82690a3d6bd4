import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { refusalOf } from '../../src/http/refusal.ts'
import { addRoute } from '../../src/http/route.ts'
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

describe('addRoute', () => {
  const app = appWith((each) => {
    addRoute(each, '/plain/:id', {
      GET: (c) => c.text(`got ${c.req.param('id')}`),
      PUT: (c) => c.text('put'),
    })
    addRoute(each, '/open', { anyOrigin: true, POST: (c) => c.text('posted') })
  })

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
