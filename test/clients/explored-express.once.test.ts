import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { type Engine, task } from 'waitpoint'
import { type Body, explore, type ExploreOptions } from 'waitpoint/testing'
import { rejection } from '../support/body-task.ts'

interface ExpressRequest extends IncomingMessage {
  readonly body: unknown
  get(header: string): string | undefined
}

interface ExpressResponse extends ServerResponse {
  status(code: number): { json(body: unknown): void }
}

type Route = (request: ExpressRequest, response: ExpressResponse) => unknown

interface ExpressApplication {
  (request: IncomingMessage, response: ServerResponse): void
  get(path: string, route: Route): void
  post(path: string, ...routes: readonly Route[]): void
}

// It is installed in the folder of these tests, which is not there when types are checked.
const express = createRequire(import.meta.url)('express') as {
  (): ExpressApplication
  json(): Route
}

const order = task({ id: 'order', run: (payload: { readonly item: string }) => payload.item })

/** An application that takes an order with the key of its request, or without. */
function shop(engine: Engine, isKeyed: boolean): ExpressApplication {
  const app = express()
  app.post('/orders', express.json(), async (request, response) => {
    const { item } = request.body as { readonly item: string }
    const key = request.get('idempotency-key') ?? ''
    const run = await engine.trigger(order, { item }, isKeyed ? { idempotencyKey: key } : {})
    response.status(202).json({ run: run.id })
  })
  app.get('/broken', () => {
    throw new Error('no such page')
  })
  return app
}

function ordering(isKeyed: boolean): Body {
  return async (t) => {
    const web = t.startEngine('web', { execute: false })
    t.startEngine('worker')
    const fetch = t.serve((engine) => shop(engine, isKeyed), web)
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'order-1' }
    const send = (): Promise<Response> =>
      fetch('/orders', { method: 'POST', headers, body: JSON.stringify({ item: 'book' }) })
    let response = await send().catch(() => undefined)
    while (response?.status !== 202) response = await send().catch(() => undefined)
    expect(await response.json()).toMatchObject({ run: expect.stringMatching(/^run_/) as unknown })
    const { data } = await web.runs.list()
    if (data.length > 1) throw new Error(`the book was ordered ${data.length} times`)
  }
}

describe('an application of Express in an exploration', () => {
  it.each([{ faults: ['lost-response'] }, { crashes: 'every-commit' }] as const)(
    'takes requests again, with %o',
    async (faults) => {
      const options: ExploreOptions = {
        tasks: [order],
        maxDeviations: 1,
        budget: { ms: Infinity },
        ...faults,
      }
      const error = await rejection(explore(ordering(false), options))
      expect(String(error)).toContain('the book was ordered 2 times')
      expect(await explore(ordering(true), options)).toMatchObject({ complete: true })
    },
  )

  it('answers what it has no route for, and what its routes throw', async () => {
    const body: Body = async (t) => {
      const fetch = t.serve((engine) => shop(engine, true))
      expect((await fetch('/nowhere')).status).toBe(404)
      expect((await fetch('/broken')).status).toBe(500)
    }
    await explore(body, { tasks: [order] })
  })
})
