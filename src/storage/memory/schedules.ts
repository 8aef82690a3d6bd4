import type { ScheduleStore } from '../../contract/storage.ts'
import { isStale, type MemoryState } from './state.ts'

/** The schedules that were created. */
export function memorySchedules(state: MemoryState): ScheduleStore {
  const { hints, marks } = state
  const texts = new Map<string, string>()
  let revision = 0
  return {
    get: (id) => texts.get(id),
    list(known) {
      if (known === String(revision)) return undefined
      const schedules = Array.from(texts, ([id, text]) => ({ id, text }))
      return { revision: String(revision), schedules: schedules.sort(byId) }
    },
    put(request) {
      if (isStale(state, request)) return 'stale'
      const { id, expected, text, by } = request
      if (texts.get(id) !== expected) return false
      if (text === undefined) {
        texts.delete(id)
        marks.delete(`schedule/${id}`)
      } else texts.set(id, text)
      revision += 1
      hints.all(by)
      hints.flush()
      return true
    },
  }
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1
}
