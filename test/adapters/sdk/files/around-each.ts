import { task } from '@trigger.dev/sdk'

/** The calls, in their order. */
export const order: string[] = []

type Payload = { throws?: 'run' | 'before' | 'after'; swallows?: boolean }

/** Middleware that catches, and hooks that get all that there is. */
export const wrapped = task({
  id: 'wrapped',
  middleware: async ({ payload, ctx, task: id, signal, next }) => {
    order.push(`middleware of ${id} ${ctx.task.id} ${signal.aborted}`)
    if (payload.throws === 'before') throw new Error('before')
    try {
      await next()
      order.push('next has ended')
    } catch (error) {
      order.push(`caught ${String(error)}`)
      if (!payload.swallows) throw error
    }
    if (payload.throws === 'after') throw new Error('after')
  },
  onStartAttempt: ({ payload, task: id }) => {
    order.push(`onStartAttempt ${id} ${Object.keys(payload).length}`)
  },
  run: async (payload: Payload) => {
    order.push('run')
    if (payload.throws === 'run') throw new Error('run')
    return { isFine: true }
  },
  onSuccess: ({ output, payload }) => {
    order.push(`onSuccess ${output.isFine} ${Object.keys(payload).length}`)
  },
  onFailure: ({ error }) => {
    order.push(`onFailure ${String(error)}`)
  },
  onComplete: ({ result, ctx }) => {
    order.push(`onComplete ${result.ok} ${ctx.attempt.number}`)
  },
})
