import { task, tasks } from '@trigger.dev/sdk/v3'

export const translate = task({
  id: 'translate',
  run: async ({ text, to }: { text: string; to: string }) => `${to}: ${text}`,
})

/** The task lies in another package: only its id is known. */
export const translateAll = task({
  id: 'translate-all',
  run: async ({ text, languages }: { text: string; languages: string[] }) => {
    const items = languages.map((to) => ({ payload: { text, to }, options: { tags: [`to:${to}`] } }))
    const { runs } = await tasks.batchTriggerAndWait('translate', items)
    const outputs: unknown[] = runs.map((run) => (run.ok ? run.output : undefined))
    const { runCount } = await tasks.batchTrigger('translate', items, { idempotencyKey: ['again', text] })
    const { id } = await tasks.trigger('translate', { text, to: 'la' }, { delay: '1h' })
    const last: string = await tasks.triggerAndWait('translate', { text, to: 'el' }).unwrap()
    return { outputs, runCount, isHandle: id.startsWith('run_'), last }
  },
})
