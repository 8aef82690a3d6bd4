import { schemaTask, type TaskOutput, type TaskPayload } from '@trigger.dev/sdk'
import { z } from 'zod'

const range = z
  .object({ from: z.coerce.date(), to: z.coerce.date(), by: z.enum(['day', 'week']).default('day') })
  .refine(({ from, to }) => from <= to, { message: 'it ends before it begins' })
  .transform(({ from, to, by }) => ({ by, days: (to.getTime() - from.getTime()) / 86_400_000 }))

/** What the caller gives differs from what the function gets. */
export const buckets = schemaTask({
  id: 'buckets',
  schema: range,
  jsonSchema: { type: 'object', required: ['from', 'to'] },
  run: async ({ by, days }) => ({ buckets: Math.ceil(by === 'week' ? days / 7 : days) }),
  onSuccess: async ({ output }) => {
    const { buckets: count }: TaskOutput<typeof buckets> = output
    results.push(count)
  },
})

export const results: number[] = []

export const lastWeek = (now: Date): TaskPayload<typeof buckets> => ({
  from: new Date(now.getTime() - 7 * 86_400_000),
  to: now,
  by: 'week',
})
