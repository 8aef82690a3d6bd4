import { createHmac, timingSafeEqual } from 'node:crypto'
import { Hono } from 'hono'
import type { Engine } from 'waitpoint'
import { z } from 'zod'
import { orderNumber, paymentOf } from './order.ts'

const body = z.object({ order: orderNumber, cents: z.number().int().positive() })

/** The route that the payment service calls, once or several times, before the order is there or after. */
export function paymentWebhook(engine: Engine, secret: string): Hono {
  const app = new Hono()
  app.post('/', async (c) => {
    const text = await c.req.text()
    if (!isSigned(text, secret, c.req.header('x-signature'))) return c.json({ error: 'wrong signature' }, 401)
    const { success, data } = body.safeParse(parse(text))
    if (!success) return c.json({ error: 'not a payment' }, 400)

    const token = await engine.wait.createToken(paymentOf(data.order))
    const completed = await engine.wait.completeToken(token, { cents: data.cents })
    // A call that is repeated gets 200, too: the service is to stop.
    return c.json({ isNew: completed.success })
  })
  return app
}

/** What the service puts into `x-signature`. */
export function signatureOf(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('hex')
}

function isSigned(text: string, secret: string, signature = ''): boolean {
  const expected = Buffer.from(signatureOf(text, secret))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
