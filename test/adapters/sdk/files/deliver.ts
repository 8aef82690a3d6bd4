import { logger, retry, task } from '@trigger.dev/sdk'

/** Hands an event to an address of a customer. */
export const deliver = task({
  id: 'deliver',
  retry: { maxAttempts: 1 },
  run: async ({ url, event }: { url: string; event: string }, { signal }) => {
    const response = await retry.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-event': event },
      body: JSON.stringify({ event }),
      signal,
      timeoutInMs: 30_000,
      retry: {
        connectionError: { maxAttempts: 3, minTimeoutInMs: 1_000, factor: 3, randomize: false },
        timeout: { maxAttempts: 2, minTimeoutInMs: 500, randomize: false },
        byStatus: { '5xx': { strategy: 'backoff', maxAttempts: 3, minTimeoutInMs: 4_000, randomize: false } },
      },
    })
    if (!response.ok) {
      logger.warn('Not delivered', { status: response.status })
      throw new Error(`answered ${response.status}`)
    }
    return (await response.json()) as unknown
  },
})
