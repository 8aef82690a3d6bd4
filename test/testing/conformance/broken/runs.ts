import type { RunStatus, WaitRecord } from '../../../../src/contract/records.ts'
import type { RunUpdate, RunUpdated } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'

export function updatingLike(change: (request: RunUpdate) => Partial<RunUpdate>): Break {
  return (memory) => ({
    runs: { update: (request) => memory.runs.update({ ...request, ...change(request) }) },
  })
}

export function updatedLike(change: (updated: RunUpdated, request: RunUpdate) => Partial<RunUpdated>): Break {
  return (memory) => ({
    runs: {
      update(request) {
        const updated = memory.runs.update(request)
        return updated && { ...updated, ...change(updated, request) }
      },
    },
  })
}

/** A run with this status that is handed back stays with its owner. */
const keepsOwner =
  (status: RunStatus): Break =>
  (memory) => ({
    runs: {
      update(request) {
        const { owner: _, ...change } = request.change
        const isKept = change.status === 'EXECUTING' && memory.runs.get(request.id)?.status === status
        return memory.runs.update(isKept ? { ...request, change } : request)
      },
    },
  })

const readyWaitsOutliveTheirRun: Break = (memory) => {
  const seen: WaitRecord[] = []
  const isOver = ({ runId }: WaitRecord): boolean => memory.runs.get(runId)?.status === 'COMPLETED'
  return {
    tokens: {
      settle(request) {
        const settled = memory.tokens.settle(request)
        if (settled !== undefined && settled !== 'stale') seen.push(...settled.ready)
        return settled
      },
    },
    tick(request) {
      const ticked = memory.tick(request)
      return { ...ticked, ready: [...ticked.ready, ...seen.filter(isOver)] }
    },
  }
}

export const brokenRuns: Readonly<Record<string, Break>> = {
  'runs.get/among': (memory) => ({ runs: { get: (id) => memory.runs.get(id) } }),
  'runs.update/applies-as-expected-only': updatingLike(({ expected }) => ({
    expected: { status: expected.status },
  })),
  'runs.update/changes-and-clears': updatingLike(({ change }) => ({
    change: Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
  })),
  'runs.update/final-settles-its-token': updatedLike(() => ({ ready: [] })),
  'runs.update/final-drops-its-waits': readyWaitsOutliveTheirRun,
  'runs.update/final-stays-final': (memory) => ({
    runs: {
      update(request) {
        const record = memory.runs.get(request.id)
        const updated = memory.runs.update(request)
        if (record?.status !== 'COMPLETED' || !request.expected.status.includes('COMPLETED')) return updated
        return { record: { ...record, ...request.change }, ready: [] }
      },
    },
  }),
  'runs.update/end-of-an-attempt': updatingLike(({ expected, change }) => ({
    expected: change.slot === false && 'errorJson' in change ? { status: expected.status } : expected,
  })),
  'runs.update/retry-gives-everything-up': updatedLike(({ record }, { by }) =>
    record.status === 'DELAYED' ? { record: { ...record, owner: by } } : {},
  ),
  'runs.update/hands-back': keepsOwner('EXECUTING'),
  'runs.update/hands-back-a-parked-run': keepsOwner('WAITING'),
  'runs.update/canceled-run-keeps-its-slot': updatingLike(({ change }) => ({
    change: change.status === 'CANCELED' ? { ...change, slot: false } : change,
  })),
  'runs.update/slot-of-a-canceled-run-ends': updatingLike(({ change: { slotUntil: _, ...change } }) => ({
    change,
  })),
  'runs.park/gives-the-slot-back': (memory) => ({
    runs: {
      park(fence) {
        const interruptions = memory.runs.get(fence.id)?.interruptions ?? 0
        const parked = memory.runs.park(fence)
        return parked && { ...parked, interruptions }
      },
    },
  }),
  'runs.park/stale': (memory) => ({
    runs: {
      park: (fence) => memory.runs.park({ ...fence, by: memory.runs.get(fence.id)?.owner ?? fence.by }),
    },
  }),
  'runs.resume/takes-a-slot': (memory) => ({
    runs: {
      resume(request) {
        const resumed = memory.runs.resume(request)
        if (resumed.outcome !== 'resumed') return resumed
        return { ...resumed, record: { ...resumed.record, slot: false } }
      },
    },
  }),
  'runs.resume/full': (memory) => ({
    runs: { resume: ({ queueLimit: _, ...fence }) => memory.runs.resume(fence) },
  }),
  'runs.resume/refused-runs-go-first': (memory) => ({
    runs: {
      resume(request) {
        const { records } = memory.runs.list({ status: ['EXECUTING'] }, { limit: 100 })
        const isParked = memory.runs.get(request.id)?.status === 'WAITING'
        if (isParked && records.length >= (request.queueLimit ?? Infinity)) return { outcome: 'full' }
        return memory.runs.resume(request)
      },
    },
  }),
  'runs.resume/says-what-is-settled': (memory) => ({
    runs: {
      resume(request) {
        const resumed = memory.runs.resume(request)
        return resumed.outcome === 'resumed' && request.isHinted === true
          ? { ...resumed, tokens: memory.runs.waits(request.id) }
          : resumed
      },
    },
  }),
  'runs.resume/stale': (memory) => ({
    runs: {
      resume(request) {
        const resumed = memory.runs.resume(request)
        return resumed.outcome === 'stale' ? { outcome: 'full' } : resumed
      },
    },
  }),
}
