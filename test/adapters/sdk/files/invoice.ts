import { AbortTaskRunError, logger, queue, schemaTask } from '@trigger.dev/sdk/v3'
import { z } from 'zod'

export const billing = queue({ name: 'billing', concurrencyLimit: 3 })

/** Failures that people are told of. */
export const alerts: string[] = []

const lines = z.array(z.object({ text: z.string(), cents: z.number().int() }))

export const invoice = schemaTask({
  id: 'invoice',
  queue: billing,
  maxDuration: 120,
  retry: { maxAttempts: 2, randomize: false },
  schema: z.object({ customer: z.string(), lines }),
  run: async ({ customer, lines: all }) => {
    if (all.length === 0) throw new AbortTaskRunError(`${customer} has bought nothing`)
    const cents = all.reduce((sum, line) => sum + line.cents, 0)
    if (cents < 0) throw new Error('an invoice cannot be negative')
    return { customer, cents, text: all.map((line) => line.text).join(', ') }
  },
  onFailure: async ({ payload, error, ctx }) => {
    logger.error('No invoice', { customer: payload.customer })
    alerts.push(`${ctx.task.id} ${payload.customer}: ${error instanceof Error ? error.message : ''}`)
  },
})
