import type { RunRecord } from '../../../../src/contract/records.ts'
import type { Break } from './broken-storage.ts'
import { claimedLike, doneBefore } from './claims.ts'
import { updatedLike, updatingLike } from './runs.ts'

export const brokenVersions: Readonly<Record<string, Break>> = {
  'runs.claim/version-of-a-planned-attempt': claimedLike(({ runs }, before) => {
    const versions = new Map(before.map((run) => [run.id, run.version]))
    return { runs: runs.map((run) => ({ ...run, version: versions.get(run.id) ?? run.version })) }
  }),
  'runs.claim/version-is-kept': (memory) => ({
    runs: {
      claim(claim) {
        const claimed = memory.runs.claim(claim)
        const version = ({ taskId }: RunRecord): string | undefined => claim.versions?.get(taskId)
        return { ...claimed, runs: claimed.runs.map((run) => ({ ...run, version: version(run) })) }
      },
    },
  }),
  'runs.update/changes-the-version': updatingLike(({ change: { version: _, ...change } }) => ({ change })),
  'runs.update/pending-version-gives-everything-up': updatedLike(({ record }, { by }) =>
    record.status === 'PENDING_VERSION' ? { record: { ...record, owner: by } } : {},
  ),
  'runs.claim/pending-version-stands-still': doneBefore((memory, { by, now }) => {
    const expected = { status: ['PENDING_VERSION'] } as const
    for (const { id, expiresAt = Infinity } of memory.runs.list(expected, { limit: 100 }).records)
      if (expiresAt <= now) memory.runs.update({ id, expected, change: { status: 'EXPIRED' }, by, now })
  }),
  'tokens.settle/pending-version-takes-answers': (memory) => ({
    tokens: {
      settle(request) {
        const record = memory.tokens.get(request.id, -Infinity)?.record
        const isLost = memory.runs.get(record?.runId ?? '')?.status === 'PENDING_VERSION'
        if (record === undefined || !isLost) return memory.tokens.settle(request)
        return { record, won: false, settledNow: false, ready: [] }
      },
    },
  }),
  'runs.claim/pending-version-goes-on': (memory) => {
    const stoodStill = new Set<string>()
    return {
      runs: {
        update(request) {
          if (request.change.status === 'PENDING_VERSION') stoodStill.add(request.id)
          return memory.runs.update(request)
        },
        claim(claim) {
          const claimed = memory.runs.claim(claim)
          const interruptions = ({ id, ...run }: RunRecord): number =>
            run.interruptions + (stoodStill.has(id) ? 1 : 0)
          const runs = claimed.runs.map((run) => ({ ...run, interruptions: interruptions(run) }))
          return { ...claimed, runs }
        },
      },
    }
  },
  'runs.update/pending-version-can-be-canceled': updatingLike(({ expected, change }) => ({
    expected:
      change.status === 'CANCELED'
        ? { ...expected, status: expected.status.filter((status) => status !== 'PENDING_VERSION') }
        : expected,
  })),
}
