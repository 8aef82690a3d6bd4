import { task, tasks, type TaskPayload } from '@trigger.dev/sdk'
import { greet } from './greetings.ts'
import type { translate } from './by-id.ts'

type Person = TaskPayload<typeof greet>

/** Tasks of other files: one by its value, one by its type only. */
export const welcome = task({
  id: 'welcome-in',
  run: async ({ person, to }: { person: Person; to: string }) => {
    const { text } = await greet.triggerAndWait(person, { tags: ['welcome'], metadata: { to } }).unwrap()
    const result = await tasks.triggerAndWait<typeof translate>('translate', { text, to })
    return result.ok ? result.output : text
  },
})

export { greet }
