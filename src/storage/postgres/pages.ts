import type { Awaitable, Page, PageRequest } from '../../contract/storage.ts'

/** One side of an id: the nearest `count` records that are older, or newer, than it. */
export interface PageRange {
  readonly older?: string | undefined
  readonly newer?: string | undefined
  readonly count: number
}

/** A page and where its neighbours are. */
export type PageRows<Row> = Omit<Page<Row>, 'records'> & { readonly rows: readonly Row[] }

/** One page, newest first, of what `read` answers: the newest of a range first, or with `newer` the oldest. */
export async function readPostgresPage<Row extends { readonly id: string }>(
  { limit, after, before }: PageRequest,
  read: (range: PageRange) => Awaitable<readonly Row[]>,
): Promise<PageRows<Row>> {
  if (before === undefined) {
    const found = await read({ older: after, count: limit + 1 })
    const rows = found.slice(0, limit)
    const [first] = rows
    const hasNewer =
      after !== undefined && first !== undefined && (await read({ newer: first.id, count: 1 })).length > 0
    return pageOf(rows, { hasOlder: found.length > limit, hasNewer })
  }
  const found = await read({ newer: before, count: limit + 1 })
  const rows = found.slice(0, limit).reverse()
  const last = rows.at(-1)
  const hasOlder = last !== undefined && (await read({ older: last.id, count: 1 })).length > 0
  return pageOf(rows, { hasOlder, hasNewer: found.length > limit })
}

function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { hasOlder, hasNewer }: { readonly hasOlder: boolean; readonly hasNewer: boolean },
): PageRows<Row> {
  const [first] = rows
  const last = rows.at(-1)
  return {
    rows,
    ...(hasOlder && last && { next: last.id }),
    ...(hasNewer && first && { previous: first.id }),
  }
}
