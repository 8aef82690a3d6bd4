import { task, wait } from '@trigger.dev/sdk'

/** What was stopped, in order. */
export const stopped: string[] = []

export const listening = task({
  id: 'listening',
  run: async (_payload: undefined, { signal }) => {
    signal.addEventListener('abort', () => stopped.push('signal'))
    await wait.for({ hours: 5 })
    return 'not reached'
  },
  onCancel: async ({ ctx }) => {
    stopped.push(`onCancel of ${ctx.task.id}`)
  },
})

export const short = task({
  id: 'short',
  maxDuration: 5,
  run: async () => {
    await wait.for({ minutes: 10 })
    return 'waits do not count'
  },
})
