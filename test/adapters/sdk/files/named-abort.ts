import { task } from '@trigger.dev/sdk'

/** As a library has it, which does not depend on the SDK. */
class NotRetryable extends Error {
  override readonly name = 'AbortTaskRunError'
}

export const asked: string[] = []

export const wrapped = task({
  id: 'not-retryable',
  retry: { maxAttempts: 4, minTimeoutInMs: 10 },
  run: async ({ status }: { status: number }, { ctx }): Promise<string> => {
    if (status === 404) throw new NotRetryable('gone', { cause: new Error(`status ${status}`) })
    if (status >= 500 && ctx.attempt.number < 3) throw new Error(`status ${status}`)
    return `status ${status}`
  },
  onFailure: ({ error }) => {
    asked.push(error instanceof NotRetryable ? `${error.message}: ${String(error.cause)}` : 'other')
  },
})
