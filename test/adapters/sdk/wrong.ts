import { batch, queue, schemaTask, task, tasks, wait } from '@trigger.dev/sdk'
import { z } from 'zod'

const measure = task({ id: 'measure', run: async (payload: { text: string }) => payload.text.length })
const checked = schemaTask({ id: 'checked', schema: z.object({ n: z.number() }), run: async ({ n }) => n })

export async function mistakes() {
  await measure.trigger({ txt: 'a' })
  await measure.trigger()
  await measure.trigger({ text: 'a' }, { tgs: [] })
  await checked.trigger({ n: 'one' })
  await tasks.trigger<typeof measure>('mesure', { text: 'a' })
  await tasks.trigger<typeof measure>('measure', { text: 1 })
  await batch.trigger<typeof measure>([{ id: 'measure', payload: { text: 1 } }])
  await wait.for({ second: 1 })
  queue({ concurrencyLimit: 1 })
  const length: string = await measure.triggerAndWait({ text: 'a' }).unwrap()
  return length
}

export const synchronous = task({ id: 'synchronous', run: (payload: { text: string }) => payload.text })
export const unknownOption = task({ id: 'unknown-option', runn: async () => 1, run: async () => 1 })
export const unknownField = schemaTask({
  id: 'unknown-field',
  schema: z.object({ n: z.number() }),
  run: async (payload) => payload.m,
})
