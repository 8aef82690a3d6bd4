import type { RunClaim, RunClaimed } from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'
import { askedLike, attempted, claimedLike } from './claims.ts'

/** Suspects that are past `maxInterruptions` end, whether their owner died with them alone or not. */
const allAreGuilty: Break = (memory) => ({
  runs: {
    claim(claim) {
      const before = attempted(memory).filter(({ status }) => status === 'EXECUTING')
      const claimed = memory.runs.claim(claim)
      const isDead = (id: string): boolean =>
        before.some((run) => run.id === id && run.owner !== undefined && run.owner !== claim.by)
      const guilty = claimed.runs.filter(
        (run) => run.interruptions > claim.maxInterruptions && isDead(run.id),
      )
      const ended: RunClaimed['ended'] = guilty.map((record) => ({
        record: { ...record, status: 'CRASHED' },
        ready: [],
      }))
      const runs = claimed.runs.filter((run) => !guilty.includes(run))
      return { ...claimed, runs, ended: [...claimed.ended, ...ended] }
    },
  },
})

/** With claims that answer otherwise once an owner has left. */
const forgetsTrialsOfThoseThatLeft: Break = (memory) => {
  let hasLeft = false
  return {
    leave(request) {
      hasLeft = true
      memory.leave(request)
    },
    runs: {
      claim(claim) {
        const claimed = memory.runs.claim(claim)
        return hasLeft ? { ...claimed, isTrialDue: undefined } : claimed
      },
    },
  }
}

/** With claims that are answered otherwise, if they are asked so. */
function answeredLike(
  isMeant: (claim: RunClaim) => boolean,
  change: (claimed: RunClaimed) => Partial<RunClaimed>,
): Break {
  return (memory) => ({
    runs: {
      claim(claim) {
        const claimed = memory.runs.claim(claim)
        return isMeant(claim) ? { ...claimed, ...change(claimed) } : claimed
      },
    },
  })
}

export const brokenSuspects: Readonly<Record<string, Break>> = {
  'suspects/crash-alone': allAreGuilty,
  'suspects/crash-with-any-claim': answeredLike(
    ({ suspects = 0 }) => suspects > 50,
    () => ({ ended: [] }),
  ),
  'suspects/groups-are-halved': askedLike(({ suspects = 0 }) => (suspects > 50 ? {} : { suspects: 0 })),
  'suspects/groups-of-few-interruptions': answeredLike(
    ({ maxInterruptions }) => maxInterruptions === 0,
    () => ({ isHeldBack: undefined }),
  ),
  'suspects/fewest-interruptions-come-first': claimedLike(({ runs }) => ({
    runs: [...runs].sort((one, other) =>
      one.interruptions > 0 && other.interruptions > 0 ? one.createdAt - other.createdAt : 0,
    ),
  })),
  'suspects/are-tried-alone': answeredLike(
    ({ maxInterruptions }) => maxInterruptions === 6,
    () => ({ isTrialDue: undefined }),
  ),
  'suspects/left-gracefully': forgetsTrialsOfThoseThatLeft,
  'suspects/others-are-not': claimedLike(({ runs, isHeldBack }) => ({
    isHeldBack: isHeldBack ?? (runs.some(({ interruptions }) => interruptions >= 9) || undefined),
  })),
}
