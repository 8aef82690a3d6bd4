import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredElsewhere } from './review.ts'
import { listing, WaitList } from './wait-list.ts'

/** Settles the token, then looks for who waits. */
const adapter: Adapter = (storage, tools) => {
  const list = new WaitList(tools)
  const listed = listing(storage, list)
  return {
    ...listed,
    tokens: {
      ...listed.tokens,
      settle: async (request) => {
        const settled = await storage.tokens.settle(request)
        if (settled === undefined || settled === 'stale' || !settled.won) return settled
        return { ...settled, ready: await tools.step('select the waits', () => list.of(request.id)) }
      },
    },
  }
}

export const missedWaiter: Planted = {
  body: answeredElsewhere,
  options: { adapter },
  breaks: 'every waiter released exactly once',
}
