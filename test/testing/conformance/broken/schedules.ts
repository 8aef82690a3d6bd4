import type { ScheduleStore, Storage } from '../../../../src/contract/storage.ts'
import { queuedRun } from '../../../../src/testing/conformance/sample-records.ts'
import type { Break } from './broken-storage.ts'

/** With schedules that are kept otherwise. */
function schedulesLike(change: (schedules: ScheduleStore) => Partial<ScheduleStore>): Break {
  return ({ schedules }: Pick<Storage, 'schedules'>) => {
    if (schedules === undefined) throw new Error('memory storage has no schedules')
    return { schedules: { ...schedules, ...change(schedules) } }
  }
}

export const brokenSchedules: Readonly<Record<string, Break>> = {
  'schedules.list/all-by-id': schedulesLike((schedules) => ({
    async list(known) {
      const list = await schedules.list(known)
      return list && { ...list, schedules: list.schedules.toReversed() }
    },
  })),
  'schedules.get/one-by-id': schedulesLike((schedules) => ({
    async get(wanted) {
      const list = await schedules.list()
      // The first one that begins so.
      return list?.schedules.toReversed().find(({ id }) => id.startsWith(wanted))?.text
    },
  })),
  'schedules.put/takes-the-place-of-the-expected': schedulesLike((schedules) => ({
    async put(request) {
      if (request.text !== undefined) return schedules.put(request)
      // It takes away whatever is there.
      return schedules.put({ ...request, expected: await schedules.get(request.id) })
    },
  })),
  'schedules.list/tells-changes-by-revision': schedulesLike((schedules) => ({
    async list(known) {
      const list = await schedules.list()
      // As if a schedule were never changed.
      const revision = String(list?.schedules.length)
      return list === undefined || revision === known ? undefined : { ...list, revision }
    },
  })),
  // The mark is stored anew.
  'schedules.put/mark-goes-with-its-schedule': (memory) => {
    const change = schedulesLike((schedules) => ({
      async put(request) {
        const key = { scope: `schedule/${request.id}`, value: 'again' }
        const [mark] = memory.runs.marks([key.scope])
        const isPut = await schedules.put(request)
        const record = queuedRun(`again ${request.id}`, { createdAt: 0, key })
        if (mark !== undefined) memory.runs.insert({ record, mark, now: 0, by: 'x' })
        return isPut
      },
    }))
    return change(memory)
  },
  'schedules.put/one-of-two-at-once': schedulesLike((schedules) => ({
    async put(request) {
      if ((await schedules.get(request.id)) !== request.expected) return false
      await schedules.put({ ...request, expected: await schedules.get(request.id) })
      return true
    },
  })),
  'schedules.put/stale-fence': schedulesLike((schedules) => ({
    put: (request) => schedules.put({ ...request, fence: undefined }),
  })),
  'subscribe/tells-of-schedules': schedulesLike((schedules) => ({
    put: (request) => schedules.put(request.fence === undefined ? { ...request, by: 'engine-b' } : request),
  })),
}
