import { task, type RetryOptions } from '@trigger.dev/sdk'

const patient = { maxAttempts: 2, minTimeoutInMs: 100, randomize: false } satisfies RetryOptions

/** Tasks that a function of the application makes. */
function stepOf<Id extends string, In, Out>(id: Id, step: (value: In) => Promise<Out> | Out) {
  return task({
    id: `step-${id}` as const,
    retry: patient,
    run: async (payload: { value: In }) => ({ step: id, value: await step(payload.value) }),
  })
}

export const upper = stepOf('upper', (text: string) => text.toUpperCase())
export const words = stepOf('words', async (text: string) => text.split(/\s+/).filter(Boolean))
export const checked = stepOf('checked', (count: number) => {
  if (count < 0) throw new RangeError(`less than none: ${count}`)
  return count
})
