import { task, tasks } from '@trigger.dev/sdk'

/** What the hooks were told. */
export const told: unknown[] = []

const ID = 'one-by-id'

// A file that is loaded twice adds no hook twice: the id of one is its name, else its text.
tasks.onStartAttempt('announce', async ({ task: id }) => {
  if (id === ID) told.push('the first of a name')
})
tasks.onStartAttempt('announce', async ({ task: id }) => {
  if (id === ID) told.push('the second of a name')
})
for (const _time of [1, 2])
  tasks.onComplete(async ({ task: id, result }) => {
    if (id === ID) told.push(`the end, once: ${result.ok}`)
  })

async function close({ task: id }: { task: string }): Promise<void> {
  if (id === ID) told.push('closed')
}
tasks.onSuccess(close)
tasks.onSuccess(close)

/** An error that completes the run by its name, as the class of another copy of the module does. */
class Done extends Error {
  override readonly name = 'CompleteTaskWithOutput'
  readonly output = { is: 'done' }
}

/** Has both names of one hook, and half of a policy. */
export const both = task({
  id: ID,
  retry: { minTimeoutInMs: 1, maxTimeoutInMs: 1, randomize: false },
  run: async ({ until }: { until: number }, { ctx }) => {
    if (ctx.attempt.number < until) throw new RangeError(`attempt ${ctx.attempt.number}`)
    throw new Done()
  },
  catchError: () => {
    told.push('catchError')
  },
  handleError: ({ retry, retryDelayInMs, retryAt }) => {
    told.push(retry, retryDelayInMs, retryAt instanceof Date)
  },
})
