import { beforeEach, describe, expect } from 'vitest'
import type { Engine } from 'waitpoint'
import { taskTest } from 'waitpoint/vitest'
import { orderTask } from './order.ts'
import { shopPages } from './pages.ts'
import { paymentWebhook, signatureOf } from './webhook.ts'

const SECRET = 'a secret'
const LAMP = { order: '7', item: 'A lamp' }
const PAID = { order: '7', cents: 1_900 }

const shipped: string[] = []
const order = orderTask((item) => void shipped.push(item))
beforeEach(() => void shipped.splice(0))

const shopTest = taskTest.with({ tasks: [order], alwaysResume: true })

async function call(engine: Engine, body: unknown, secret = SECRET): Promise<[number, unknown]> {
  const text = JSON.stringify(body)
  const headers = { 'x-signature': signatureOf(text, secret) }
  const response = await paymentWebhook(engine, SECRET).request('/', { method: 'POST', headers, body: text })
  return [response.status, await response.json()]
}

describe('an order', () => {
  shopTest('ships once, when the webhook comes later, and again', async ({ t }) => {
    const run = await t.engine.trigger(order, LAMP)
    await t.waitingToken({ tag: 'order:7' })
    expect(await call(t.engine, PAID)).toEqual([200, { isNew: true }])
    expect(await run.result()).toBe('A lamp shipped, € 19.00 paid')
    expect(await call(t.engine, PAID)).toEqual([200, { isNew: false }])
    expect(shipped).toEqual(['A lamp'])
  })

  shopTest('ships at once, when the webhook came weeks before', async ({ t }) => {
    expect(await call(t.engine, PAID)).toEqual([200, { isNew: true }])
    await t.clock.advance('20d')
    const run = await t.engine.trigger(order, LAMP)
    await expect(run).toFinishWithin('1s')
    expect(await run.result()).toBe('A lamp shipped, € 19.00 paid')
  })

  shopTest('is canceled without a payment, and does not ship', async ({ t }) => {
    const run = await t.engine.trigger(order, LAMP)
    await expect(run).toTimeOutIn('30d')
    expect(await run.result()).toBe('canceled: it was not paid in 30 days')
    expect(shipped).toEqual([])
  })
})

describe('the webhook', () => {
  shopTest('refuses what the service did not sign, and what is no payment', async ({ t }) => {
    expect(await call(t.engine, PAID, 'another secret')).toEqual([401, { error: 'wrong signature' }])
    expect(await call(t.engine, { order: '7', cents: -1 })).toEqual([400, { error: 'not a payment' }])
    expect((await t.engine.wait.listTokens()).data).toEqual([])
  })
})

describe('the page', () => {
  shopTest(
    'shows a payment before its order, and one order for a form that was sent twice',
    async ({ t }) => {
      const app = shopPages(t.engine, { order, secret: SECRET })
      const send = async (path: string, number = '7'): Promise<number> => {
        const body = new URLSearchParams({ order: number, item: 'A lamp' })
        return (await app.request(path, { method: 'POST', body })).status
      }
      const shown = async (): Promise<string> => (await app.request('/')).text()

      expect([await send('/orders', ' '), await send('/payments', '')]).toEqual([400, 400])
      expect((await t.engine.runs.list()).data).toEqual([])
      await send('/payments')
      expect(await shown()).toContain('Order 7 is paid, and not there yet')
      await send('/orders')
      await send('/orders')
      await t.clock.settle()
      expect(shipped).toEqual(['A lamp'])
      expect(await shown()).not.toContain('not there yet')
    },
  )
})
