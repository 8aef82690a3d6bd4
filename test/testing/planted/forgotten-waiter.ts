import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { canceled } from './review.ts'
import { listing, WaitList } from './wait-list.ts'

/** Forgets that a run that is canceled no longer waits. */
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
        return { ...settled, ready: list.of(request.id) }
      },
    },
  }
}

export const forgottenWaiter: Planted = {
  body: canceled,
  options: { adapter },
  breaks: 'no delivery after cancel',
}
