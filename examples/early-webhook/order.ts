import { once, task, wait } from 'waitpoint'
import type { CreateTokenOptions, Task } from 'waitpoint'
import { z } from 'zod'

export interface Order {
  readonly order: string
  readonly item: string
}

export const orderNumber: z.ZodType<string, string> = z.string().trim().min(1).max(40)

/** Checks a form, and the payload of each run once more. */
export const orderSchema: z.ZodType<Order, Order> = z.object({
  order: orderNumber,
  item: z.string().min(1).max(200),
})

/** What the payment service tells of an order. */
export interface Payment {
  readonly cents: number
}

/**
 * The token of a payment. The run that waits and the webhook both create it with this key, and get one and the same token:
 * the second one finds it, with its answer if there is one.
 */
export function paymentOf(order: string): CreateTokenOptions {
  return {
    idempotencyKey: `payment of ${order}`,
    idempotencyKeyTTL: '31d', // longer than the wait
    timeout: '30d',
    tags: ['payment', `order:${order}`],
  }
}

/** Waits for the payment, and ships. */
export function orderTask(ship: (item: string) => void): Task<Order, string> {
  return task({
    id: 'order',
    schema: orderSchema,
    run: async ({ order, item }) => {
      const payment = await wait.forToken<Payment>(await wait.createToken(paymentOf(order)))
      if (!payment.ok) return 'canceled: it was not paid in 30 days'
      await once('ship', () => ship(item))
      return `${item} shipped, € ${(payment.output.cents / 100).toFixed(2)} paid`
    },
  })
}
