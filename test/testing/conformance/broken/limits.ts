import type { RunClaim, RunLimit } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

type Limits = NonNullable<RunClaim['limits']>

/** With claims that are made under other limits. */
function limitedLike(change: (limits: Limits, memory: Memory) => Limits | undefined): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        const { limits } = claim
        return memory.runs.claim(limits === undefined ? claim : { ...claim, limits: change(limits, memory) })
      },
    },
  })
}

function each(limits: Limits, change: (limit: RunLimit) => RunLimit): Limits {
  return new Map(Array.from(limits, ([name, limit]) => [name, { ...limit, ...change(limit) }]))
}

const raised = (limits: Limits, by: number): Limits =>
  each(limits, ({ total = Infinity }) => ({ total: total + by }))

export const brokenLimits: Readonly<Record<string, Break>> = {
  'limits/total': limitedLike((limits) => raised(limits, 1)),
  'limits/per-key': limitedLike((limits) => each(limits, () => ({ perKey: undefined }))),
  'limits/all-or-none': (memory) => ({
    runs: {
      insert: ({ record, ...request }) =>
        memory.runs.insert({ ...request, record: { ...record, limits: record.limits?.slice(0, 1) } }),
    },
  }),
  // The slots of a second limit are never given back by a park.
  'limits/free-all': (memory) => {
    let parks = 0
    const { runs } = limitedLike((limits) =>
      each(limits, ({ perKey = Infinity }) => ({ perKey: perKey - parks })),
    )(memory)
    return {
      runs: {
        ...runs,
        park(fence) {
          const parked = memory.runs.park(fence)
          if (parked?.limits !== undefined) parks += 1
          return parked
        },
      },
    }
  },
  'limits/resume': (memory) => ({
    runs: { resume: (request) => memory.runs.resume({ ...request, limits: undefined }) },
  }),
  'limits/refused-first': (memory) => {
    const refused = new Set<string>()
    const { runs } = limitedLike((limits) => raised(limits, refused.size))(memory)
    return {
      runs: {
        ...runs,
        resume(request) {
          const resumed = memory.runs.resume(request)
          if (resumed.outcome === 'full') refused.add(request.id)
          else refused.delete(request.id)
          return resumed
        },
      },
    }
  },
  'limits/next-in-line': (memory) => ({
    runs: {
      claim(claim) {
        const claimed = memory.runs.claim(claim)
        return claim.limits === undefined ? claimed : { ...claimed, isHeldBack: undefined }
      },
    },
  }),
  'limits/when-an-owner-dies': limitedLike((limits, memory) => {
    const { records } = memory.runs.list({ status: ['EXECUTING'] }, { limit: 100 })
    return records.some(({ owner, returned }) => owner === undefined && !returned) ? undefined : limits
  }),
  'limits/that-are-set': limitedLike((limits, memory) =>
    (memory.queues?.list() as readonly unknown[]).length > 0 ? undefined : limits,
  ),
}
