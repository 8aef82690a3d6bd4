import { runs, task, tasks } from '@trigger.dev/sdk'

export const count = task({
  id: 'count-down',
  run: async ({ from }: { from: number }) => Array.from({ length: from }, (_, index) => from - index),
})

/** As a route of a web application: it starts a run and hands on how it goes. */
export async function* watched(from: number): AsyncGenerator<string> {
  const handle = await tasks.trigger<typeof count>('count-down', { from }, { tags: ['watched'] })
  for await (const run of runs.subscribeToRun<typeof count>(handle.id)) {
    if (!run.isCompleted) continue
    yield `${run.status} ${run.output?.join('')} ${run.tags.join()}`
    break
  }
}
