import { schemaTask } from '@trigger.dev/sdk'
import { z } from 'zod'

const event = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('created'),
    user: z.object({ id: z.string().min(4), name: z.string().trim().min(1) }),
  }),
  z.object({ type: z.literal('deleted'), at: z.coerce.date(), reason: z.string().optional() }),
])

export const onEvent = schemaTask({
  id: 'on-event',
  description: 'Handles what happens to users',
  schema: event,
  machine: { preset: 'medium-1x' },
  maxDuration: 300,
  queue: { concurrencyLimit: 5 },
  run: async (payload) => {
    switch (payload.type) {
      case 'created':
        return { text: `hello ${payload.user.name}` }
      case 'deleted':
        return { text: `bye at ${payload.at.toISOString()}`, reason: payload.reason ?? null }
    }
  },
})

const settings = z
  .object({ limit: z.number().int().max(100).default(10), cursor: z.string().nullish() })
  .transform(({ limit, cursor }) => ({ take: limit, isFirst: cursor == null }))

export const paged = schemaTask({
  id: 'paged',
  schema: settings,
  ttl: '10m',
  run: async ({ take, isFirst }, { ctx }) => `${ctx.task.id} ${take} ${isFirst}`,
})
