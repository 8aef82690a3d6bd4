import * as sdk from '@trigger.dev/sdk'

export const kinds: string[] = []

/** The module under one name. */
export const classified = sdk.task({
  id: 'classified',
  retry: { maxAttempts: 2, minTimeoutInMs: 10 },
  run: async ({ error }: { error?: 'abort' | 'range' }, { ctx }) => {
    if (error === 'abort') throw new sdk.AbortTaskRunError('no second attempt')
    if (error === 'range' && ctx.attempt.number === 1) throw new RangeError('once')
    return ctx.attempt.number
  },
  catchError: ({ error }) => {
    kinds.push(
      error instanceof sdk.AbortTaskRunError ? 'abort' : error instanceof Error ? error.name : 'other',
    )
  },
})

export const spaced = sdk.task({
  id: 'spaced',
  run: async () => {
    await sdk.wait.for({ days: 1 })
    sdk.metadata.set('spaced', true).increment('times')
    return sdk.metadata.current()
  },
})
