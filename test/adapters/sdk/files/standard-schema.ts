import { schemaTask, tasks } from '@trigger.dev/sdk'

/** What a library with its own way of writing schemas gives its users: a Standard Schema that can also `parse`. */
function schemaOf<Out>(vendor: string, read: (value: unknown) => Out) {
  return {
    parse: read,
    '~standard': {
      version: 1 as const,
      vendor,
      validate: (value: unknown): { value: Out } | { issues: { message: string }[] } => {
        try {
          return { value: read(value) }
        } catch (error) {
          return { issues: [{ message: String(error) }] }
        }
      },
    },
  }
}

const amount = schemaOf('by-hand', (value: unknown): { cents: number } => {
  const { cents } = value as { cents?: unknown }
  if (Number.isNaN(Number(cents))) throw new Error('not a number')
  return { cents: Math.round(Number(cents)) }
})

export const toEuro = schemaTask({
  id: 'to-euro',
  schema: amount,
  description: 'From cents to a text',
  run: async ({ cents }) => (cents / 100).toFixed(2),
})

/** Its schema is a function, which says by itself what it gives. */
export const totals = schemaTask({
  id: 'totals',
  schema: (value: unknown) => (Array.isArray(value) ? value.map(Number) : []),
  run: async (all) => {
    const items = all.map((cents) => ({ payload: { cents } }))
    const { runs } = await tasks.batchTriggerAndWait<typeof toEuro>('to-euro', items)
    return runs.map((run) => (run.ok ? run.output : 'failed'))
  },
})
