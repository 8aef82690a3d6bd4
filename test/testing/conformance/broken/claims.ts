import type { RunRecord } from '../../../../src/contract/records.ts'
import type { RunClaim, RunClaimed } from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

const NOTHING: RunClaimed = { runs: [], ended: [] }

/** With a claim that is asked otherwise. */
export function askedLike(change: (claim: RunClaim) => Partial<RunClaim>): Break {
  return (memory) => ({
    runs: { claim: (claim) => memory.runs.claim({ ...claim, ...change(claim) }) },
  })
}

/** With a claim that answers otherwise. */
export function claimedLike(
  change: (claimed: RunClaimed, before: readonly RunRecord[]) => Partial<RunClaimed>,
): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        const before = memory.runs.list({}, { limit: 100 }).records
        const claimed = memory.runs.claim(claim)
        return { ...claimed, ...change(claimed, before) }
      },
    },
  })
}

/** With something done before every claim. */
export function doneBefore(act: (memory: Memory, claim: RunClaim) => void): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        act(memory, claim)
        return memory.runs.claim(claim)
      },
    },
  })
}

export function attempted(memory: Memory): readonly RunRecord[] {
  return memory.runs.list({ status: ['EXECUTING', 'WAITING'] }, { limit: 100 }).records
}

export const brokenClaims: Readonly<Record<string, Break>> = {
  'runs.claim/starts-an-attempt': claimedLike(({ runs }) => ({
    runs: runs.map((run) => ({ ...run, policyAttempt: 0 })),
  })),
  'runs.claim/oldest-first-and-once': claimedLike(({ runs }) => ({ runs: [...runs].reverse() })),
  'runs.claim/needs-a-live-lease': doneBefore((memory, { by, now }) => {
    memory.tick({ owner: by, now, leaseUntil: now + 1_000_000, limit: 0 })
  }),
  'runs.claim/refused-claims-do-not-count': (memory) => {
    const seen = new Set<string>()
    return {
      runs: {
        claim(claim) {
          const name = `${claim.by} ${claim.number}`
          if (seen.has(name)) return NOTHING
          seen.add(name)
          return memory.runs.claim(claim)
        },
      },
    }
  },
  'runs.claim/living-owners-keep-theirs': doneBefore((memory, { by, now }) => {
    for (const { owner } of attempted(memory))
      if (owner !== undefined && owner !== by) memory.leave({ owner, now })
  }),
  'runs.claim/only-asked-for-tasks': askedLike(({ taskIds }) => ({ taskIds: [...taskIds, 'other'] })),
  'runs.claim/delayed-runs-at-their-instant': claimedLike(({ runs }, before) => {
    const wakeAt = new Map(before.map((run) => [run.id, run.wakeAt]))
    return { runs: runs.map((run) => ({ ...run, wakeAt: wakeAt.get(run.id) })) }
  }),
  'runs.claim/expires-what-never-started': claimedLike(() => ({ ended: [] })),
  'runs.claim/retries-do-not-expire': doneBefore((memory, { by, now }) => {
    for (const { id, attempt, expiresAt = Infinity } of memory.runs.list({}, { limit: 100 }).records) {
      const change = { status: 'EXPIRED' } as const
      if (attempt > 0 && expiresAt <= now)
        memory.runs.update({ id, expected: { status: ['DELAYED'] }, change, by, now })
    }
  }),
  'runs.claim/queue-limits': askedLike(() => ({ queueLimits: new Map() })),
  'runs.claim/muster': (memory) => ({
    runs: { claim: (claim) => (claim.limit === 0 ? { runs: [], ended: [] } : memory.runs.claim(claim)) },
  }),
  'runs.claim/muster-omits-what-went-on': (memory) => {
    const given = new Map<string, RunRecord>()
    return {
      runs: {
        claim(claim) {
          const answer = memory.runs.claim(claim)
          for (const run of answer.runs) given.set(run.id, run)
          if (claim.limit > 0) return answer
          return { runs: [...given.values()].filter(({ owner }) => owner === claim.by), ended: [] }
        },
      },
    }
  },
  'runs.claim/number-is-too-late': (memory) => {
    const last = new Map<string, number>()
    return {
      runs: {
        claim(claim) {
          const number = Math.max(claim.number, (last.get(claim.by) ?? 0) + 1)
          last.set(claim.by, number)
          return memory.runs.claim({ ...claim, number })
        },
      },
    }
  },
}
