import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredHere } from './review.ts'

/** Answers that the token is completed before it is written. */
const adapter: Adapter = (storage) => {
  return {
    ...storage,
    tokens: {
      ...storage.tokens,
      settle: async (request) => {
        const read = await storage.tokens.get(request.id, request.now)
        if (read?.record.status !== 'WAITING') return read && { ...read, won: false, ready: [] }
        // Written behind, without waiting.
        void storage.tokens.settle(request)
        const { outputJson, now: completedAt } = request
        const record = { ...read.record, status: 'COMPLETED', outputJson, completedAt } as const
        return { record, won: true, settledNow: true, ready: [] }
      },
    },
  }
}

export const earlyAcknowledgement: Planted = {
  body: answeredHere,
  options: { adapter, crashes: 'every-commit' },
  breaks: 'no acknowledged completion lost',
}
