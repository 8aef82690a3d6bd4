import { logger, task } from '@trigger.dev/sdk'

export const greet = task({
  id: 'greet',
  description: 'Greets a person',
  machine: 'small-2x',
  maxDuration: 300,
  retry: { maxAttempts: 3, factor: 2, minTimeoutInMs: 500, maxTimeoutInMs: 30_000, randomize: false },
  run: async (payload: { name: string }, { ctx, signal }) => {
    logger.info('Greeting', { name: payload.name })
    if (signal.aborted) return { text: '', attempt: 0, machine: '' }
    return { text: `Hello ${payload.name}`, attempt: ctx.attempt.number, machine: ctx.machine?.name ?? '' }
  },
})

/** Without a payload, and with the context handed on as a whole. */
export const whereAmI = task({
  id: 'where-am-i',
  run: async (_payload, { ctx }) => ({
    task: ctx.task.id,
    environment: ctx.environment.type,
    project: ctx.project.ref,
    queue: ctx.queue.name,
    isTest: ctx.run.isTest,
    startedAt: ctx.attempt.startedAt,
  }),
})

/** Its payload has a JSON schema, and no type. */
export const described = task({
  id: 'described',
  jsonSchema: { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] },
  run: async (payload) => Number(payload.count) + 1,
})
