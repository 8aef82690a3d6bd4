import { idempotencyKeys, queue, task } from '@trigger.dev/sdk'

export const mails = queue({ name: 'mails', concurrencyLimit: 1 })

export const mail = task({
  id: 'mail',
  queue: mails,
  run: async (payload: { to: string }, { ctx }) => `${payload.to} by ${ctx.queue.name}`,
})

export const letter = task({
  id: 'letter',
  queue: 'mails',
  run: async (payload: { to: string }) => payload.to,
})

export const oneAtATime = task({
  id: 'one-at-a-time',
  queue: { concurrencyLimit: 1 },
  ttl: '1h',
  run: async (payload: { n: number }) => payload.n,
})

export const sending = task({
  id: 'sending',
  run: async (payload: { user: string }) => {
    const once = await idempotencyKeys.create(['welcome', payload.user], { scope: 'global' })
    const first = await mail.trigger({ to: payload.user }, { idempotencyKey: once, idempotencyKeyTTL: '60s' })
    const again = await mail.trigger({ to: payload.user }, { idempotencyKey: once })
    const own = await letter.trigger({ to: payload.user }, { idempotencyKey: ['own', payload.user] })
    const ownAgain = await letter.trigger({ to: payload.user }, { idempotencyKey: ['own', payload.user] })
    const other = await oneAtATime.trigger(
      { n: 1 },
      {
        queue: 'mails',
        concurrencyKey: payload.user,
        priority: 10,
        machine: 'large-1x',
        maxAttempts: 2,
        maxDuration: 60,
        metadata: { user: payload.user },
        ttl: 0,
        tags: ['', `user:${payload.user}`],
      },
    )
    return [first.id === again.id, own.id === ownAgain.id, other.id !== own.id]
  },
})
