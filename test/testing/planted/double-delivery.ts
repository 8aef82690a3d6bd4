import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredTwice } from './review.ts'

/** Takes what it read for what it wrote: of two completions at once both are told that they won. */
const adapter: Adapter = (storage) => {
  return {
    ...storage,
    tokens: {
      ...storage.tokens,
      settle: async (request) => {
        const read = await storage.tokens.get(request.id, request.now)
        if (read?.record.status !== 'WAITING') return read && { ...read, won: false, ready: [] }
        const settled = await storage.tokens.settle(request)
        if (settled === undefined || settled === 'stale') return settled
        const { outputJson } = request
        return { ...settled, record: { ...settled.record, status: 'COMPLETED', outputJson }, won: true }
      },
    },
  }
}

export const doubleDelivery: Planted = {
  body: answeredTwice,
  options: { adapter },
  breaks: 'single assignment',
}
