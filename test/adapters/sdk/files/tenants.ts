import { queue, task, tasks } from '@trigger.dev/sdk/v3'

export const free = queue({ name: 'free', concurrencyLimit: 1 })
export const paid = queue({ name: 'paid', concurrencyLimit: 10 })

export const generate = task({
  id: 'generate',
  queue: free,
  run: async ({ prompt }: { prompt: string }, { ctx }) => `${prompt} on ${ctx.queue.name}`,
})

/** The plan of a user decides about the queue, the user about the place in it. */
export const generateFor = async (user: { id: string; isPaying: boolean }, prompt: string) =>
  tasks.trigger<typeof generate>(
    'generate',
    { prompt },
    { queue: user.isPaying ? 'paid' : 'free', concurrencyKey: user.id, priority: user.isPaying ? 60 : 0 },
  )
