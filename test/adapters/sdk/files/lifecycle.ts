import { AbortTaskRunError, task } from '@trigger.dev/sdk'

/** The calls, in their order. */
export const calls: string[] = []

export const everyHook = task({
  id: 'every-hook',
  retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
  run: async (payload: { fails: number }, { ctx, init }) => {
    calls.push(`run ${init?.connection}`)
    if (ctx.attempt.number <= payload.fails) throw new Error(`failure ${ctx.attempt.number}`)
    return 'fine'
  },
  init: async () => {
    calls.push('init')
    return { connection: 'open' }
  },
  middleware: async ({ ctx, next }) => {
    calls.push(`middleware begins, attempt ${ctx.attempt.number}`)
    await next()
    calls.push('middleware ends')
  },
  onStart: async ({ task, init }) => {
    calls.push(`onStart ${task} ${init?.connection}`)
  },
  onStartAttempt: async ({ ctx }) => {
    calls.push(`onStartAttempt ${ctx.attempt.number}`)
  },
  catchError: async ({ error, retryDelayInMs }) => {
    calls.push(`catchError ${error instanceof Error ? error.message : ''} ${retryDelayInMs ?? 'last'}`)
  },
  onSuccess: async ({ output }) => {
    calls.push(`onSuccess ${output}`)
  },
  onFailure: async ({ error }) => {
    calls.push(`onFailure ${error instanceof Error ? error.message : ''}`)
  },
  onComplete: async ({ result }) => {
    calls.push(`onComplete ${result.ok ? result.data : 'failed'}`)
  },
  cleanup: async ({ init }) => {
    calls.push(`cleanup ${init?.connection}`)
  },
})

export const hopeless = task({
  id: 'hopeless',
  retry: { maxAttempts: 5 },
  run: async () => {
    throw new AbortTaskRunError('there is no point')
  },
  catchError: async () => {
    calls.push('catchError of hopeless')
  },
  onFailure: ({ error }) => {
    calls.push(`onFailure ${error instanceof Error ? error.name : ''}`)
  },
})

/** An older name, with an answer that ends the run. */
export const skipping = task({
  id: 'skipping',
  retry: { maxAttempts: 5, outOfMemory: { machine: 'large-1x' } },
  run: async () => {
    throw new Error('first')
  },
  handleError: async ({ error }) => {
    calls.push('handleError')
    return { skipRetrying: true, error: new Error(`changed: ${String(error)}`) }
  },
})
