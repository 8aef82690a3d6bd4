import type { IncomingMessage, ServerResponse } from 'node:http'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { once, task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { exploreAll } from './bodies.ts'

async function failure(promise: PromiseLike<unknown>): Promise<Error> {
  const error = await rejection(promise)
  if (error instanceof Error) return error
  throw new Error('Cannot read what failed: it is no error')
}

describe('t.onRestart', () => {
  const cache = new Map<string, string>()
  const read = task({
    id: 'read',
    run: async (_payload: null) => {
      const cached = cache.get('price')
      if (cached !== undefined) return cached
      await once('price', () => 'computed')
      cache.set('price', 'computed')
      await wait.for({ seconds: 1 })
      return cache.size === 1 ? 'computed' : 'lost'
    },
  })
  const crashing: Body = async (t) => {
    cache.clear()
    const run = await t.engine.trigger(read, null)
    await run.result()
    t.sometimes('the cache was dropped', dropped > 0)
  }
  let dropped = 0

  it('drops the state of a module when the process dies', async () => {
    dropped = 0
    const body: Body = async (t) => {
      t.onRestart((engine) => {
        expect(engine).toBe('engine')
        dropped += cache.size
        cache.clear()
      })
      await crashing(t)
    }
    const options = { tasks: [read], crashes: 'every-commit', maxDeviations: 1 } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
  })

  it('waits for a module that is imported again, and gives its tasks to the new engine', async () => {
    const answer = (id: string) =>
      task({
        id: 'answer',
        version: '1',
        run: async (_payload: null) => (await wait.for({ seconds: 1 }), id),
      })
    const first = answer('first')
    const body: Body = async (t) => {
      t.onRestart(() => Promise.resolve([answer('second')]))
      const run = await t.engine.trigger(first, null)
      await t.clock.sleep(1)
      t.crash()
      expect(await run.result()).toBe('second')
      expect(t.calls(first).map(({ attempt }) => attempt)).toEqual([1, 2])
    }
    expect(await exploreAll(body, { tasks: [first], maxDeviations: 0 })).toMatchObject({ runs: 1 })
  })

  it('fails the schedule when it throws', async () => {
    const body: Body = async (t) => {
      t.onRestart(() => Promise.reject(new Error('no such module')))
      await t.engine.ready()
      t.crash()
      await t.engine.wait.createToken()
    }
    expect((await failure(exploreAll(body, { maxDeviations: 0 }))).message).toContain('no such module')
  })
})

describe('t.serve', () => {
  const order = task({ id: 'order', run: (payload: { readonly item: string }) => payload.item })

  function shop(retry: boolean, key: boolean): Body {
    return async (t) => {
      const web = t.startEngine('web', { execute: false })
      const fetch = t.serve(
        (engine) => async (request) => {
          const payload = (await request.json()) as { readonly item: string; readonly key: string }
          const options = key ? { idempotencyKey: payload.key } : {}
          const { id } = await engine.trigger(order, payload, options)
          return Response.json({ id })
        },
        web,
      )
      const post = () =>
        fetch('/orders', { method: 'POST', body: JSON.stringify({ item: 'book', key: 'order-1' }) })
      await t.engine.ready()
      try {
        await post()
      } catch (error) {
        expect(error).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
        t.sometimes('a network error', true)
        if (retry)
          while (
            !(await post().then(
              ({ ok }) => ok,
              () => false,
            ))
          );
      }
      await t.clock.sleep('1m')
      const { data } = await t.engine.runs.list()
      if (data.length > 1) throw new Error(`the book was ordered ${data.length} times`)
      if (retry) expect(data).toHaveLength(1)
    }
  }

  it.each([{ faults: ['lost-response'] }, { crashes: 'every-commit' }] as const)(
    'finds a request that was carried out twice, with %o',
    async (options) => {
      const all = { tasks: [order], maxDeviations: 1, ...options }
      const { message } = await failure(exploreAll(shop(true, false), all))
      expect(message).toContain('the book was ordered 2 times')
      expect(await exploreAll(shop(true, true), all)).toMatchObject({ complete: true })
      expect(await exploreAll(shop(false, false), all)).toMatchObject({ complete: true })
    },
  )

  it('takes an application with a fetch method, such as one of Hono', async () => {
    const body: Body = async (t) => {
      const fetch = t.serve((engine) => {
        const app = new Hono()
        app.post('/orders/:item', async (c) => {
          const { id } = await engine.trigger(order, { item: c.req.param('item') })
          return c.json({ id }, 202)
        })
        return app
      })
      const response = await fetch('/orders/book', { method: 'POST' })
      expect(response.status).toBe(202)
      expect(await response.json()).toMatchObject({ id: expect.stringMatching(/^run_/) as unknown })
      expect((await fetch('/nowhere')).status).toBe(404)
    }
    expect(await exploreAll(body, { tasks: [order], maxDeviations: 1 })).toMatchObject({ complete: true })
  })

  it('answers 500 when a handler throws', async () => {
    const body: Body = async (t) => {
      const fetch = t.serve(() => () => {
        throw new Error('no such page')
      })
      const response = await fetch('/')
      expect(response.status).toBe(500)
      expect(await response.text()).toBe('Error: no such page')
    }
    await exploreAll(body)
  })

  it('lets a request wait while its process stands still', async () => {
    const body: Body = async (t) => {
      const web = t.startEngine('web', { execute: false })
      const fetch = t.serve(() => () => new Response(String(t.clock.now())), web)
      const startedAt = t.clock.now()
      t.pause(web, '2m')
      const response = await fetch('/')
      expect(Number(await response.text())).toBe(startedAt + 120_000)
    }
    expect(await exploreAll(body)).toMatchObject({ complete: true })
  })

  it('refuses what is no application', async () => {
    const body: Body = async (t) => {
      // @ts-expect-error -- no function
      expect(() => t.serve({})).toThrow('create')
      // @ts-expect-error -- no application
      const fetch = t.serve(() => ({}))
      expect(await rejection(fetch('/'))).toMatchObject({ name: 'TypeError' })
    }
    await exploreAll(body, { maxDeviations: 0 })
  })

  it('takes a listener of Node, such as an application of Express', async () => {
    const body: Body = async (t) => {
      const fetch = t.serve((engine) => (request: IncomingMessage, response: ServerResponse) => {
        let text = ''
        request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        request.on('end', () => {
          void engine.trigger(order, { item: text }).then(({ id }) => {
            response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] })
            response.write(`${request.method ?? ''} ${request.url ?? ''} `)
            response.end(id.slice(0, 4))
          })
        })
      })
      const response = await fetch('/orders?now', { method: 'POST', body: 'book' })
      expect(response.status).toBe(201)
      expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
      expect(await response.text()).toBe('POST /orders?now run_')
    }
    expect(await exploreAll(body, { tasks: [order], maxDeviations: 1 })).toMatchObject({ complete: true })
  })
})

describe('t.post', () => {
  it('makes a request again whose response was lost', async () => {
    const body: Body = async (t) => {
      const token = await t.engine.wait.createToken({ timeout: '1h' })
      const response = await t.post(token.url, 'yes')
      expect(response.status).toBe(200)
      const { status } = await t.engine.wait.retrieveToken(token)
      t.sometimes('it is completed', status === 'COMPLETED')
      t.sometimes('it is too late', status === 'TIMED_OUT')
    }
    const options = { faults: ['lost-response'], maxDeviations: 1 } as const
    const { runs, complete } = await exploreAll(body, options)
    expect(complete).toBe(true)
    expect(runs).toBeGreaterThan(1)
  })
})

describe('a rejection that is not handled', () => {
  it('fails its schedule, with its story', async () => {
    const order = task({
      id: 'order',
      run: async (_payload: null) => {
        const token = await wait.createToken({ timeout: '1h', tags: ['order'] })
        const answer = await wait.forToken(token)
        // Not awaited: the mail of an order that has expired is refused.
        if (!answer.ok) void Promise.reject(new Error('no mail for an expired order'))
      },
    })
    const body: Body = async (t) => {
      const run = await t.engine.trigger(order, null)
      await t.complete({ tag: 'order' }, 'yes')
      await run.outcome()
    }
    const error = await rejection(exploreAll(body, { tasks: [order] }))
    expect(error).toMatchObject({ invariant: 'no rejection is left unhandled' })
    expect(String(error)).toContain('no mail for an expired order')
    expect(String(error)).toContain('the deadline of the token [order] of order passes')
    expect(String(error)).toContain('Replay: ')
  })

  it('is none of code whose process is dead', async () => {
    let isReached = false
    const body: Body = async (t) => {
      const lookUp = task({
        id: 'lookUp',
        run: async (_payload: null, { ctx }) => {
          if (ctx.attempt.number > 1) return
          const real = new Promise<void>((resolve) => setImmediate(resolve))
          t.crash()
          await real
          isReached = true
          void Promise.reject(new Error('of a dead process'))
        },
      })
      t.use(lookUp)
      const run = await t.engine.trigger(lookUp, null)
      await run.result()
    }
    await exploreAll(body, { maxDeviations: 0 })
    expect(isReached).toBe(true)
  })

  it('belongs to the exploration that it comes from', async () => {
    const good: Body = async (t) => {
      for (let n = 0; n < 20; n++) await t.step('work')
    }
    const bad: Body = async (t) => {
      await t.step('work')
      void Promise.reject(new Error('mine'))
      await t.step('work')
    }
    const [fine, failed] = await Promise.allSettled([exploreAll(good), exploreAll(bad)])
    expect(fine.status).toBe('fulfilled')
    expect(failed).toMatchObject({ reason: { invariant: 'no rejection is left unhandled' } })
    expect(process.listenerCount('unhandledRejection')).toBeGreaterThan(0)
  })
})
