import { changedSettings, isAsDeclared } from '../../contract/queue-limits.ts'
import { queuePool } from '../../contract/pools.ts'
import type { QueueStore } from '../../contract/storage.ts'
import { isStale, type MemoryState } from './state.ts'

/** The queues of a memory storage. */
export function memoryQueues(state: MemoryState): QueueStore {
  const { queues, lanes, hints } = state
  const { settings } = queues
  return {
    get: (name, concurrencyKey) => ({
      ...(settings.get(name) ?? { name, isPaused: false }),
      ...lanes.countsOf(name),
      starts: lanes.starts.of(queuePool(name, concurrencyKey)),
    }),
    list: () => [...settings.values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
    set(change) {
      if (isStale(state, change)) return 'stale'
      const after = changedSettings(settings.get(change.name), change)
      if (isAsDeclared(after)) settings.delete(change.name)
      else settings.set(change.name, after)
      lanes.openQueue(change.name)
      hints.queue(change.by)
      hints.flush()
      return after
    },
  }
}
