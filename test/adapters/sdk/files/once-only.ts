import { idempotencyKeys, task } from '@trigger.dev/sdk'

export const charge = task({
  id: 'charge-card',
  run: async ({ cents }: { cents: number }) => cents,
})

/** A key of each scope, over two attempts. */
export const checkout = task({
  id: 'checkout',
  retry: { maxAttempts: 2, minTimeoutInMs: 100, randomize: false },
  run: async ({ cart }: { cart: string }, { ctx }) => {
    const charged = async (scope: 'run' | 'attempt' | 'global') => {
      const idempotencyKey = await idempotencyKeys.create([cart, scope], { scope })
      return charge.trigger({ cents: 1 }, { idempotencyKey, idempotencyKeyTTL: '1h', tags: scope })
    }
    const ofRun = await charged('run')
    const ofAttempt = await charged('attempt')
    const ofAll = await charged('global')
    const plain = await charge.triggerAndWait({ cents: 2 }, { idempotencyKey: [cart, 'plain'] }).unwrap()
    if (ctx.attempt.number === 1) throw new Error('again')
    return { ids: [ofRun.id, ofAttempt.id, ofAll.id], plain }
  },
})
