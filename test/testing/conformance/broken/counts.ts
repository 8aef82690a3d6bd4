import type {
  CountStore,
  RunCountFilter,
  StatusCount,
  TokenCountFilter,
} from '../../../../src/contract/storage.ts'
import type { Break, Memory } from './broken-storage.ts'

type MemoryCounts = NonNullable<Memory['counts']>

/** With counts that are made otherwise. */
function countsLike(change: (counts: MemoryCounts) => Partial<CountStore>): Break {
  return (memory) => {
    const { counts } = memory
    if (counts === undefined) throw new Error('memory storage has no counts')
    return { counts: { ...counts, ...change(counts) } }
  }
}

export const brokenCounts: Readonly<Record<string, Break>> = {
  'counts.tokens/by-status': countsLike((counts) => ({
    tokens(filter: TokenCountFilter, atMost) {
      const { WAITING, COMPLETED, ...rest } = counts.tokens(filter, atMost)
      // A settled token is still among those that wait.
      const count = (WAITING?.count ?? 0) + (COMPLETED?.count ?? 0)
      return { ...rest, WAITING: { count, isMore: false }, ...(COMPLETED && { COMPLETED }) }
    },
  })),
  'counts.tokens/filters': countsLike((counts) => ({
    tokens({ tags, ...filter }: TokenCountFilter, atMost) {
      if (tags === undefined) return counts.tokens(filter, atMost)
      // One with two of the tags is counted twice.
      const each = tags.map((tag) => counts.tokens({ ...filter, tags: [tag] }, atMost).WAITING?.count ?? 0)
      return { WAITING: { count: each.reduce((sum, one) => sum + one, 0), isMore: false } }
    },
  })),
  'counts.runs/by-status': countsLike((counts) => ({
    runs(filter: RunCountFilter, atMost) {
      const { COMPLETED, ...rest } = counts.runs(filter, atMost)
      return COMPLETED === undefined ? rest : { ...rest, COMPLETED: { count: 0, isMore: false } }
    },
  })),
  'counts.runs/filters': countsLike((counts) => ({
    runs: ({ queue: _, ...filter }: RunCountFilter, atMost) => counts.runs(filter, atMost),
  })),
  'counts/exact-up-to-at-most': countsLike((counts) => ({
    tokens(filter: TokenCountFilter, atMost) {
      const bounded = Object.entries(counts.tokens(filter, atMost)).map(
        ([status, one]): readonly [string, StatusCount] => [
          status,
          { count: one.count, isMore: one.count >= atMost },
        ],
      )
      return Object.fromEntries(bounded)
    },
  })),
}
