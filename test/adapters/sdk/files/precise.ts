import { task } from '@trigger.dev/sdk'

export interface Order {
  id: bigint
  placedAt: Date
  prices: Map<string, number>
  tags: Set<string>
  note?: string | undefined
}

export const reorder = task({
  id: 'reorder',
  run: async (order: Order) => ({
    ...order,
    id: order.id + 1n,
    placedAt: new Date(order.placedAt.getTime() + 86_400_000),
    total: [...order.prices.values()].reduce((sum, price) => sum + price, 0),
    hasNote: 'note' in order,
  }),
})

export const twice = task({
  id: 'twice',
  run: async (order: Order) => {
    const once = await reorder.triggerAndWait(order).unwrap()
    return reorder.triggerAndWait(once).unwrap()
  },
})

class Money {
  readonly amount: number
  constructor(amount: number) {
    this.amount = amount
  }
  format(): string {
    return `${this.amount} €`
  }
}

/** An instance of a class is a plain object on the other side. */
export const priced = task({ id: 'priced', run: async () => ({ price: new Money(3), format: () => 'x' }) })
