import type { Adapter } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { canceled } from './review.ts'
import { listing, WaitList } from './wait-list.ts'

/** Drops the waits of a run that is canceled. */
const adapter: Adapter = (storage, tools) => {
  const list = new WaitList(tools)
  const listed = listing(storage, list)
  return {
    ...listed,
    runs: {
      ...listed.runs,
      update: async (request) => {
        const updated = await storage.runs.update(request)
        if (updated?.record.finishedAt !== undefined) list.remove(({ runId }) => runId === request.id)
        return updated
      },
    },
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
