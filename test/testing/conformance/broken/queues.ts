import type { QueueChange, QueueSettings, QueueStore, Storage } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'
import { claimedLike } from './claims.ts'

function queuesOf({ queues }: Pick<Storage, 'queues'>): QueueStore {
  if (queues === undefined) throw new Error('memory storage has no queues')
  return queues
}

/** With queues that are kept otherwise. */
export function queuesLike(change: (queues: QueueStore) => Partial<QueueStore>): Break {
  return (memory) => {
    const queues = queuesOf(memory)
    return { queues: { ...queues, ...change(queues) } }
  }
}

/** What is set of queues; the memory answers at once. */
function settingsOf(memory: Pick<Storage, 'queues'>): readonly QueueSettings[] {
  return queuesOf(memory).list() as readonly QueueSettings[]
}

/** Calls `act` as if some of what is set were not. */
function without<Answer>(
  memory: Pick<Storage, 'queues'>,
  settings: readonly QueueSettings[],
  { but, act }: { readonly but: Partial<QueueChange>; readonly act: () => Answer },
): Answer {
  const set = (change: Partial<QueueChange> & { readonly name: string }): void =>
    void queuesOf(memory).set({ by: '', now: 0, ...change })
  for (const { name } of settings) set({ name, ...but })
  const answer = act()
  for (const one of settings) set(one)
  return answer
}

const resumedWithout =
  (but: Partial<QueueChange>): Break =>
  (memory) => ({
    runs: {
      resume: (request) =>
        without(memory, settingsOf(memory), { but, act: () => memory.runs.resume(request) }),
    },
  })

export const brokenQueues: Readonly<Record<string, Break>> = {
  'queues.set/changes-what-is-given': queuesLike((queues) => ({
    set: (change) => queues.set({ ...change, isPaused: change.isPaused ?? false }),
  })),
  'queues.get/counts-slots': queuesLike((queues) => ({
    async get(name) {
      const state = await queues.get(name)
      return { ...state, slots: Math.min(state.slots, 1) }
    },
  })),
  'queues.set/pauses': resumedWithout({ isPaused: false }),
  'queues.set/limits': resumedWithout({ limit: null }),
  'queues.set/holds-back-claims': claimedLike(({ isHeldBack }, before) => ({
    isHeldBack: (isHeldBack && before.some(({ interruptions }) => interruptions > 0)) || undefined,
  })),
  'queues.set/stale-fence': queuesLike((queues) => ({
    set: (change) => queues.set({ ...change, fence: undefined }),
  })),
  'queues.set/is-seen-by-every-claim': (memory) => ({
    runs: {
      async claim(claim) {
        const seen = settingsOf(memory).map(({ name }) => name)
        // What is set meanwhile is not seen.
        for (let turns = 0; turns < 10; turns += 1) await Promise.resolve()
        const unseen = settingsOf(memory).filter(({ name }) => !seen.includes(name))
        const but = { isPaused: false, limit: null }
        return without(memory, unseen, { but, act: () => memory.runs.claim(claim) })
      },
    },
  }),
  'subscribe/tells-of-queues': queuesLike((queues) => ({
    set: (change) => queues.set(change.fence === undefined ? { ...change, by: 'engine-b' } : change),
  })),
}
