import { retry, task } from '@trigger.dev/sdk'

/** Asks a server of another party, as it is told. */
export const request = task({
  id: 'request',
  retry: { maxAttempts: 1 },
  run: async ({ url, init }: { url: string; init?: Parameters<typeof retry.fetch>[1] }) => {
    const response = await retry.fetch(url, init)
    return { status: response.status, text: await response.text() }
  },
})
