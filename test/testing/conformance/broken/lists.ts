import type { RunRecord, TokenRecord } from '../../../../src/contract/records.ts'
import type {
  Page,
  PageRequest,
  RunFilter,
  TokenFilter,
  TokenPage,
} from '../../../../src/contract/storage.ts'
import type { Break } from './broken-storage.ts'

type List = (page: PageRequest) => Page<RunRecord | TokenRecord>

/** With pages that are made otherwise. */
function pagedLike(
  store: 'tokens' | 'runs',
  change: (list: List, page: PageRequest) => ReturnType<List>,
): Break {
  return (memory) => {
    const tokens = (filter: TokenFilter, page: PageRequest, now: number): TokenPage => {
      const listed = memory.tokens.list(filter, page, now)
      return { ...listed, ...change((one) => memory.tokens.list(filter, one, now), page) } as TokenPage
    }
    const runs = (filter: RunFilter, page: PageRequest): Page<RunRecord> =>
      change((one) => memory.runs.list(filter, one), page) as Page<RunRecord>
    return store === 'tokens' ? { tokens: { list: tokens } } : { runs: { list: runs } }
  }
}

/** A page begins after as many records as the pages before it had. */
function pagedByOffset(): (list: List, page: PageRequest) => ReturnType<List> {
  const offsets = new Map<string, number>()
  return (list, page) => {
    const offset = page.after === undefined ? 0 : offsets.get(page.after)
    if (offset === undefined || page.before !== undefined) return list(page)
    const all = list({ limit: 1_000 }).records
    const records = all.slice(offset, offset + page.limit)
    const last = records.at(-1)
    const next = last !== undefined && all.length > offset + records.length ? last.id : undefined
    if (next !== undefined) offsets.set(next, offset + records.length)
    return { records, next, previous: offset > 0 ? records[0]?.id : undefined }
  }
}

/** A page of what has a tag does not lead back. */
function taggedPagesLead(store: 'tokens' | 'runs'): Break {
  return (memory) =>
    store === 'tokens'
      ? {
          tokens: {
            list(filter, page, now) {
              const listed = memory.tokens.list(filter, page, now)
              return filter.tags === undefined ? listed : { ...listed, previous: undefined }
            },
          },
        }
      : {
          runs: {
            list(filter, page) {
              const listed = memory.runs.list(filter, page)
              return filter.tags === undefined ? listed : { ...listed, previous: undefined }
            },
          },
        }
}

function pagesOf(store: 'tokens' | 'runs'): Readonly<Record<string, Break>> {
  return {
    [`${store}.list/newest-first`]: pagedLike(store, (list, page) => {
      const listed = list(page)
      return { ...listed, records: [...listed.records].reverse() }
    }),
    [`${store}.list/pages-back`]: pagedLike(store, (list, page) => list({ ...page, before: undefined })),
    [`${store}.list/pages-are-stable`]: (memory) => pagedLike(store, pagedByOffset())(memory),
    [`${store}.list/by-id`]: taggedPagesLead(store),
  }
}

function tokensLike(change: (filter: TokenFilter) => Partial<TokenFilter>): Break {
  return (memory) => ({
    tokens: {
      list: (filter, page, now) => memory.tokens.list({ ...filter, ...change(filter) }, page, now),
    },
  })
}

export const brokenLists: Readonly<Record<string, Break>> = {
  ...pagesOf('tokens'),
  'tokens.list/settles-past-deadline': (memory) => ({
    tokens: { list: (...args) => ({ ...memory.tokens.list(...args), settled: [] }) },
  }),
  'tokens.list/filters-by-tags': (memory) => ({
    tokens: {
      list(filter, page, now) {
        const listed = memory.tokens.list(filter, page, now)
        const hasAll = ({ tags }: TokenRecord): boolean =>
          filter.tags?.every((tag) => tags.includes(tag)) ?? true
        return { ...listed, records: listed.records.filter(hasAll) }
      },
    },
  }),
  'tokens.list/filters-by-key': (memory) => ({
    tokens: {
      list(filter, page, now) {
        const listed = memory.tokens.list(filter, page, now)
        return filter.key === undefined ? listed : { ...listed, records: listed.records.slice(0, 1) }
      },
    },
  }),
  'tokens.list/filters-by-status-and-kind': tokensLike(({ status }) =>
    status?.includes('COMPLETED') === true ? { status: undefined } : {},
  ),
  'tokens.list/filters-by-creation': tokensLike(({ to = Infinity }) => ({ to: to - 1 })),
  ...pagesOf('runs'),
  'runs.list/filters': (memory) => ({
    runs: { list: ({ tags: _, ...filter }, page) => memory.runs.list(filter, page) },
  }),
  'runs.list/not-these-tasks': (memory) => ({
    runs: { list: ({ notTaskIds: _, ...filter }, page) => memory.runs.list(filter, page) },
  }),
  // Only the children are found, and not theirs.
  'runs.list/below-a-root': (memory) => ({
    runs: {
      list({ root, ...filter }, page) {
        const listed = memory.runs.list({ root, ...filter }, page)
        if (root === undefined) return listed
        return { ...listed, records: listed.records.filter(({ parentId }) => parentId === root) }
      },
    },
  }),
  'runs.list/roots': (memory) => ({
    runs: { list: ({ isRoot: _, ...filter }, page) => memory.runs.list(filter, page) },
  }),
}
