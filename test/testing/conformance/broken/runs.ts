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

/** Once a run was refused, nothing is claimed until it has its slot, whether its owner lives or not. */
const refusedForEver: Break = (memory) => {
  const refused = new Set<string>()
  return {
    runs: {
      resume(request) {
        const answer = memory.runs.resume(request)
        if (answer.outcome === 'full') refused.add(request.id)
        else refused.delete(request.id)
        return answer
      },
      claim: (request) => memory.runs.claim(refused.size > 0 ? { ...request, taskIds: [] } : request),
    },
  }
}

export const brokenRuns: Readonly<Record<string, Break>> = {
  'runs.get/among': (memory) => ({ runs: { get: (id) => memory.runs.get(id) } }),
  'runs.update/applies-as-expected-only': updatingLike(({ expected }) => ({
    expected: { status: expected.status },
  })),
  'runs.update/epochs-are-not-attempts': (memory) => ({
    runs: {
      park(fence) {
        const isOfAttempt = memory.runs.get(fence.id)?.attempt === fence.epoch
        return isOfAttempt ? memory.runs.park(fence) : undefined
      },
    },
  }),
  'owners/refused-runs-hold-nothing-back': refusedForEver,
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
  'runs.update/moves-the-expiry': updatingLike(({ change: { expiresAt: _, ...others } }) => ({
    change: others,
  })),
  'runs.update/hands-back': keepsOwner('EXECUTING'),
  'runs.update/hands-back-a-parked-run': keepsOwner('WAITING'),
  'runs.update/canceled-run-keeps-its-slot': updatingLike(({ change }) => ({
    change: change.status === 'CANCELED' ? { ...change, slot: false } : change,
  })),
  // It goes by the instant a claim later.
  'runs.update/slot-of-a-canceled-run-ends': (memory) => {
    let last = 0
    return {
      runs: {
        claim(request) {
          const before = { status: ['CANCELED'] } as const
          const { records } = memory.runs.list(before, { limit: 100 })
          const isOver = records.some(
            ({ slotUntil = Infinity }) => slotUntil <= request.now && last < slotUntil,
          )
          last = request.now
          return memory.runs.claim(isOver ? { ...request, limit: 0 } : request)
        },
      },
    }
  },
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
  // A claim counts anew.
  'runs.park/numbers': (memory) => ({
    runs: {
      claim(request) {
        const claimed = memory.runs.claim(request)
        return {
          ...claimed,
          runs: claimed.runs.map((run) => (run.parks === undefined ? run : { ...run, parks: 0 })),
        }
      },
    },
  }),
  'runs.park/repeated': (memory) => ({
    runs: {
      park: (fence) =>
        memory.runs.get(fence.id)?.status === 'EXECUTING' ? memory.runs.park(fence) : undefined,
    },
  }),
  // Whichever it names is the next.
  'runs.park/late': (memory) => ({
    runs: {
      park({ parks, ...fence }) {
        const { status, parks: before = 0 } = memory.runs.get(fence.id) ?? {}
        const isOver = status === 'EXECUTING' && parks === before
        return memory.runs.park({ ...fence, parks: isOver ? parks + 1 : parks })
      },
    },
  }),
  'runs.resume/repeated': (memory) => ({
    runs: {
      resume: (request) =>
        memory.runs.get(request.id)?.status === 'WAITING'
          ? memory.runs.resume(request)
          : { outcome: 'stale' },
    },
  }),
  // Whichever it names is the last.
  'runs.resume/late': (memory) => ({
    runs: {
      resume({ parks, ...request }) {
        const { parks: last = 0 } = memory.runs.get(request.id) ?? {}
        return memory.runs.resume({ ...request, parks: Math.max(parks, last) })
      },
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
