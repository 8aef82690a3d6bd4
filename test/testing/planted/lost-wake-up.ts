import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredElsewhere } from './review.ts'

/** Reads whether the token is settled, then registers: a settlement in between finds no waiter to wake. */
const adapter: Adapter = (storage) => {
  return {
    ...storage,
    tokens: {
      ...storage.tokens,
      await: async (request) => {
        const read = await storage.tokens.get(request.tokenId, request.now)
        if (read === undefined) return { outcome: 'unknown' }
        const { record: token, settledNow } = read
        if (token.status !== 'WAITING') return { outcome: 'settled', token, settledNow }
        await storage.tokens.await(request)
        return { outcome: 'registered', token }
      },
    },
  }
}

export const lostWakeUp: Planted = {
  body: answeredElsewhere,
  options: { adapter },
  breaks: 'every waiter released exactly once',
}
