import type { Hono } from 'hono'
import { html } from 'hono/html'
import type { Engine, Run, Task, Token } from 'waitpoint'
import { createApp, readForm } from '../host.ts'
import type { Html } from '../layout.ts'
import { type Order, orderSchema } from './order.ts'
import { paymentWebhook, signatureOf } from './webhook.ts'

/** What the pages start, and the secret that they share with the payment service. */
interface Shop {
  readonly order: Task<Order, string>
  readonly secret: string
}

/** Two buttons, to be pressed in any order: the customer orders, and the payment service calls. */
export function shopPages(engine: Engine, { order, secret }: Shop): Hono {
  const live = async (): Promise<Html> => {
    const { data: runs } = await engine.runs.list({ taskIdentifier: order.id, limit: 10 })
    const { data: paid } = await engine.wait.listTokens({ tags: 'payment', status: 'COMPLETED', limit: 10 })
    const ordered = new Set(runs.map(({ payload }) => (payload as Order).order))
    const early = paid.map(orderOf).filter((number) => !ordered.has(number))
    return html`
      <h2>Orders</h2>
      <ul>${runs.map(orderItem)}</ul>
      <h2>Payments that came first</h2>
      <ul>${early.map((number) => html`<li>Order ${number} is paid, and not there yet</li>`)}</ul>`
  }
  const app = createApp(engine, { title: 'Orders', top: FORM, live })
  app.route('/webhooks/payment', paymentWebhook(engine, secret))

  app.post('/orders', async (c) => {
    const sent = await readForm(c, orderSchema)
    if (sent instanceof Response) return sent
    // A form that is sent twice is one order.
    await engine.trigger(order, sent, { idempotencyKey: sent.order, idempotencyKeyTTL: '31d' })
    return c.redirect('/', 303)
  })

  // Stands for the payment service: it signs what it sends.
  app.post('/payments', async (c) => {
    const sent = await readForm(c, orderSchema)
    if (sent instanceof Response) return sent
    const body = JSON.stringify({ order: sent.order, cents: 1_900 })
    const headers = { 'x-signature': signatureOf(body, secret) }
    await app.request('/webhooks/payment', { method: 'POST', headers, body })
    return c.redirect('/', 303)
  })
  return app
}

const FORM = html`
  <p class="soft">Press the buttons in any order, and each as often as you like: an order is shipped once.</p>
  <form method="post" action="/orders">
    <label>Order <input name="order" value="7" required maxlength="40" /></label>
    <input name="item" type="hidden" value="A lamp" />
    <button>The customer orders</button>
    <button formaction="/payments">The payment service calls</button>
  </form>`

function orderItem({ payload, output, status }: Run): Html {
  const { order, item } = payload as Order
  const state = status === 'WAITING' ? 'waits for its payment' : (output ?? status.toLowerCase())
  return html`<li><b>Order ${order}</b> <small>${item}</small><br />${state}</li>`
}

/** The tag of a payment says which order it is for. */
function orderOf({ tags }: Token): string {
  return tags.find((tag) => tag.startsWith('order:'))?.slice('order:'.length) ?? ''
}
