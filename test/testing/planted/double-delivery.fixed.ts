import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredTwice } from './review.ts'

/** Answers what the compare-and-set of the write says, whatever was read before. */
const adapter: Adapter = (storage) => {
  return {
    ...storage,
    tokens: {
      ...storage.tokens,
      settle: async (request) => {
        const read = await storage.tokens.get(request.id, request.now)
        if (read?.record.status !== 'WAITING') return read && { ...read, won: false, ready: [] }
        return storage.tokens.settle(request)
      },
    },
  }
}

export const doubleDelivery: Planted = {
  body: answeredTwice,
  options: { adapter },
  breaks: 'single assignment',
}
