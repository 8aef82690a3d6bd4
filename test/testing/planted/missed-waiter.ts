import type { Adapter, AdapterTools } from 'waitpoint/testing'
import type { Planted } from './planted.ts'
import { answeredElsewhere } from './review.ts'
import { listing, WaitList } from './wait-list.ts'

/** Looks for who waits before it settles the token: a waiter that registers in between is missed. */
const adapter: Adapter = (storage, tools) => {
  const list = new WaitList(tools)
  const missed = missedBy(tools)
  const listed = listing(storage, list)
  return {
    ...listed,
    tokens: {
      ...listed.tokens,
      settle: async (request) => {
        const waiting = await tools.step('select the waits', () => list.of(request.id))
        const settled = await storage.tokens.settle(request)
        if (settled === undefined || settled === 'stale' || !settled.won) return settled
        // The others are not marked as ready: they are never handed over.
        for (const { runId } of list.of(request.id)) {
          if (!waiting.some((wait) => wait.runId === runId)) missed.add(runId)
        }
        return { ...settled, ready: waiting }
      },
    },
    tick: async (request) => {
      const result = await storage.tick(request)
      return { ...result, ready: result.ready.filter(({ runId }) => !missed.has(runId)) }
    },
  }
}

/** The runs that were missed, in all processes of a schedule. */
function missedBy({ disk }: AdapterTools): Set<string> {
  if (!disk.has('missed')) disk.set('missed', new Set<string>())
  // Set right here.
  return disk.get('missed') as Set<string>
}

export const missedWaiter: Planted = {
  body: answeredElsewhere,
  options: { adapter },
  breaks: 'every waiter released exactly once',
}
