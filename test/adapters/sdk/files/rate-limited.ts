import { logger, retry, schemaTask } from '@trigger.dev/sdk'
import { z } from 'zod'

/** A service that says when it can be asked again, in milliseconds, and one request that any status repeats. */
export const complete = schemaTask({
  id: 'complete-prompt',
  schema: z.object({ url: z.url(), prompt: z.string().default('hello') }),
  maxDuration: 60,
  run: async ({ url, prompt }) => {
    const request = new Request(url, { method: 'POST', body: prompt })
    const response = await retry.fetch(request, {
      retry: {
        byStatus: {
          '429,50x': {
            strategy: 'headers',
            limitHeader: 'x-limit',
            remainingHeader: 'x-remaining',
            resetHeader: 'x-reset',
          },
          all: { strategy: 'backoff', maxAttempts: 5, minTimeoutInMs: 10, factor: 1, randomize: false },
        },
      },
    })
    logger.info('Completed', { status: response.status })
    return response.text()
  },
})
