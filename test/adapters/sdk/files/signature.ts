import { WaitpointTimeoutError, metadata, task, wait } from '@trigger.dev/sdk/v3'

/** A document is signed elsewhere: the page gets the token from the metadata. */
export const signature = task({
  id: 'signature',
  run: async ({ document, by }: { document: string; by: Date }) => {
    const token = await wait.createToken({
      timeout: by,
      tags: [`document:${document}`, 'signature'],
      idempotencyKey: `sign-${document}`,
    })
    metadata.set('token', token.id).set('hasUrl', token.url.startsWith('http'))
    try {
      const { name } = await wait.forToken<{ name: string }>(token.id).unwrap()
      return `signed by ${name}`
    } catch (error) {
      if (error instanceof WaitpointTimeoutError) return 'not signed'
      throw error
    }
  },
})
