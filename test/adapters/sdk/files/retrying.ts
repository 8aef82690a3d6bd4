import { AbortTaskRunError, logger, task } from '@trigger.dev/sdk/v3'

/** What the attempts have seen, in order. */
export const attempts: unknown[] = []

const policy = { maxAttempts: 4, factor: 1.5, minTimeoutInMs: 500, maxTimeoutInMs: 2_000, randomize: true }

export const flaky = task({
  id: 'flaky',
  retry: policy,
  run: async ({ succeedsAt }: { succeedsAt: number }, { ctx: { attempt, run } }) => {
    attempts.push([attempt.number, run.isTest, attempt.startedAt instanceof Date])
    if (attempt.number < succeedsAt) throw new Error(`not yet: ${attempt.number}`)
    return attempt.number
  },
})

class RateLimited extends Error {
  override readonly name = 'RateLimited'
  readonly waitMs: number
  constructor(waitMs: number) {
    super(`limited for ${waitMs} ms`)
    this.waitMs = waitMs
  }
}

/** The answer of `catchError` decides when, and whether, there is another attempt. */
export const decided = task({
  id: 'decided',
  retry: { maxAttempts: 3 },
  run: async ({ kinds }: { kinds: string[] }, { ctx }) => {
    const kind = kinds[ctx.attempt.number - 1]
    if (kind === 'limit') throw new RateLimited(250)
    if (kind === 'abort') throw new AbortTaskRunError('not found')
    if (kind === 'fail') throw new TypeError('wrong kind')
    return `done at ${ctx.attempt.number}`
  },
  catchError: async ({ error, ctx }) => {
    logger.debug('An attempt has failed', { attempt: ctx.attempt.number })
    if (error instanceof RateLimited) return { retryDelayInMs: error.waitMs }
    if (error instanceof TypeError) return { error: new Error(`given up: ${error.message}`) }
    return undefined
  },
})

export const once = task({
  id: 'once',
  retry: { maxAttempts: 1 },
  run: async () => {
    attempts.push('once')
    throw new Error('only once')
  },
})
