import { ApiError, RateLimitError, task } from '@trigger.dev/sdk'

/** The attempts that began, and what `catchError` was asked. */
export const asked: string[] = []

function refusal(status: number, resetAt?: string): Error {
  if (status === 0)
    return Object.assign(new Error('broken inside'), { name: 'TriggerInternalError', skipRetrying: true })
  if (status === 1) return Object.assign(new Error('cannot be read'), { name: 'TaskPayloadParsedError' })
  return status === 429
    ? new RateLimitError(status, {}, 'too many', { 'x-ratelimit-reset': resetAt })
    : new ApiError(status, { message: `refused with ${status}` }, undefined, {})
}

/** Calls the service's own API, which may refuse it. */
export const calling = task({
  id: 'calling',
  retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false },
  run: async ({ status, resetAt }: { status: number; resetAt?: string }, { ctx }): Promise<void> => {
    asked.push(`attempt ${ctx.attempt.number}`)
    throw refusal(status, resetAt)
  },
  catchError: async ({ retryDelayInMs = 0 }) => {
    asked.push(`asked, with ${retryDelayInMs > 60_000 ? 'the delay of the service' : retryDelayInMs}`)
  },
})
