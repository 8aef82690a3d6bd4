import type { RunRecord } from '../../../../src/contract/records.ts'
import { madeId } from '../../../../src/testing/conformance/named-storage.ts'
import type { Break } from './broken-storage.ts'
import { claimedLike } from './claims.ts'

export const brokenPriorities: Readonly<Record<string, Break>> = {
  'runs.claim/ahead-by-priority': (memory) => ({
    runs: {
      // The priority of a run counts only if it is a high one.
      insert: (request) =>
        memory.runs.insert({
          ...request,
          record: { ...request.record, priorityMs: Math.max(0, request.record.priorityMs ?? 0) || undefined },
        }),
    },
  }),
  'runs.claim/priority-outlives-attempts': (memory) => ({
    runs: {
      // A retry has lost it.
      update(request) {
        const { priorityMs = 0 } = memory.runs.get(request.id) ?? {}
        const { change } = request
        if (change.wakeAt === undefined) return memory.runs.update(request)
        return memory.runs.update({ ...request, change: { ...change, wakeAt: change.wakeAt + priorityMs } })
      },
    },
  }),
  'runs.claim/what-goes-on-comes-first': claimedLike(({ runs }) => {
    const place = ({ createdAt, priorityMs = 0 }: RunRecord): number => createdAt - priorityMs
    return runs.some(({ id }) => id === madeId('run', 'goes on', 0))
      ? { runs: runs.toSorted((one, other) => place(one) - place(other)) }
      : {}
  }),
}
