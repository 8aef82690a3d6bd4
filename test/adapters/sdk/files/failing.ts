import { retry, task } from '@trigger.dev/sdk'

let tries = 0

export const flaky = task({
  id: 'flaky',
  run: async (payload: { fails: number }) => {
    tries = 0
    return retry.onThrow(
      async ({ attempt, maxAttempts }) => {
        tries += 1
        if (tries <= payload.fails) throw new Error(`try ${attempt} of ${maxAttempts}`)
        return attempt
      },
      { maxAttempts: 3, randomize: false, factor: 2, minTimeoutInMs: 1_000 },
    )
  },
})

export const fetching = task({
  id: 'fetching',
  run: async (payload: { url: string }) => {
    const response = await retry.fetch(payload.url, {
      method: 'POST',
      body: 'x',
      retry: {
        byStatus: {
          '500-599': { strategy: 'backoff', maxAttempts: 4, minTimeoutInMs: 2_000, randomize: false },
          '429': {
            strategy: 'headers',
            limitHeader: 'x-ratelimit-limit',
            remainingHeader: 'x-ratelimit-remaining',
            resetHeader: 'x-ratelimit-reset',
            resetFormat: 'iso_8601_duration_openai_variant',
          },
        },
      },
    })
    return { status: response.status, text: await response.text() }
  },
})

/** The hook decides: another attempt after a time of its own. */
export const limited = task({
  id: 'limited',
  run: async (_payload: { id: string }, { ctx }) => {
    if (ctx.attempt.number < 3) throw new Error('rate limited')
    return ctx.attempt.number
  },
  catchError: async ({ ctx, error }) => {
    if (error instanceof Error && error.message === 'rate limited') {
      if (ctx.attempt.number === 1) return { retryDelayInMs: 60_000 }
      return { retry: { maxAttempts: 5, minTimeoutInMs: 30_000, factor: 1, randomize: false } }
    }
    return undefined
  },
})

/** An answer without a delay ends the run. */
export const renamed = task({
  id: 'renamed',
  retry: { maxAttempts: 5 },
  run: async () => {
    throw new Error('a secret')
  },
  catchError: () => ({ error: new Error('it failed') }),
})
