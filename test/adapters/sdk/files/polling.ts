import { AbortTaskRunError, task, wait } from '@trigger.dev/sdk'

/** Pauses, as the hooks are told of them. */
export const pauses: string[] = []

const states = ['queued', 'running', 'finished']

/** Asks again and again how far a job of another service is. */
export const follow = task({
  id: 'follow-job',
  retry: { maxAttempts: 1 },
  run: async ({ most }: { most: number }) => {
    for (let asked = 0; asked < most; asked += 1) {
      const state = states[asked]
      if (state === 'finished') return { state, asked }
      await wait.for({ seconds: 10 * (asked + 1) })
    }
    throw new AbortTaskRunError('it takes too long')
  },
  onWait: async ({ wait: pause, ctx }) => {
    pauses.push(`${ctx.task.id} waits for a ${pause.type}`)
  },
  onResume: async ({ wait: pause }) => {
    if (pause.type === 'duration') pauses.push(`goes on at ${pause.date instanceof Date}`)
  },
})
