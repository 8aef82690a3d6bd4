import { task, type RetryOptions } from '@trigger.dev/sdk'

class Limited extends Error {
  readonly resetAt: Date
  constructor(resetAt: Date) {
    super('limited')
    this.resetAt = resetAt
  }
}

/** What the hook was asked. */
export const questions: unknown[] = []

const patient: RetryOptions = { maxAttempts: 5, minTimeoutInMs: 100, factor: 1, randomize: false }

/** Each kind of error has an answer of its own. */
export const decided = task({
  id: 'decided-by-kind',
  retry: { maxAttempts: 2, minTimeoutInMs: 10, randomize: false },
  run: async ({ kind, until }: { kind: string; until: number }, { ctx }) => {
    if (ctx.attempt.number >= until) return ctx.attempt.number
    switch (kind) {
      case 'limited':
        throw new Limited(new Date(ctx.run.startedAt.getTime() + 1_000))
      case 'skipped':
        throw new SyntaxError('cannot be read')
      default:
        throw new Error(kind)
    }
  },
  catchError: async ({ error, ctx, payload, task: id, retry }) => {
    questions.push([id, ctx.attempt.number, payload.kind, retry?.maxAttempts])
    if (error instanceof Limited) return { retryAt: error.resetAt }
    if (error instanceof SyntaxError) return { skipRetrying: true }
    if (payload.kind === 'patient') return { retry: patient }
    if (payload.kind === 'renamed') return { error: new Error('something went wrong'), skipRetrying: true }
    return undefined
  },
})
