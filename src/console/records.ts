import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { Page, RunFilter, TokenFilter, TokenRead } from '../contract/storage.ts'
import { runNotFound, tokenNotFound } from '../api/not-found.ts'
import type { Inside } from '../core/inside.ts'

/** So many records are on one page. */
const PAGE_SIZE = 50
/** So many runs are looked through for those of a queue: no storage lists runs by their queue. */
const MOST_LOOKED_THROUGH = 1_000

/** Where a page begins. */
export interface Cursors {
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** A page of runs, and whether the runs of a queue were looked for without an end. */
export interface RunsPage extends Page<RunRecord> {
  /** So many runs were looked through. Absent: the storage has found them. */
  readonly lookedThrough?: number
}

/** A run as it is stored. */
export async function runRecord(inside: Inside, id: string): Promise<RunRecord> {
  const record = await inside.read(() => inside.host.storage.runs.get(id))
  if (record === undefined) throw runNotFound(id)
  return record
}

/** A page of runs. */
export async function runRecords(
  inside: Inside,
  { queue, ...filter }: RunFilter & { readonly queue?: string | undefined },
  cursors: Cursors,
): Promise<RunsPage> {
  const list = (limit: number, { after, before }: Cursors): Promise<Page<RunRecord>> =>
    inside.read(() => inside.host.storage.runs.list(filter, { limit, after, before }))
  if (queue === undefined) return list(PAGE_SIZE, cursors)
  const records: RunRecord[] = []
  let lookedThrough = 0
  let { after } = cursors
  while (lookedThrough < MOST_LOOKED_THROUGH) {
    const page = await list(100, { after })
    for (const record of page.records) {
      lookedThrough += 1
      after = record.id
      if (record.queue === queue) records.push(record)
      if (records.length === PAGE_SIZE) return { records, next: after, lookedThrough }
    }
    if (page.next === undefined) return { records, lookedThrough }
    after = page.next
  }
  return { records, next: after, lookedThrough }
}

/** A token as it is stored, settled if its deadline has passed; with so many of the runs that wait for it. */
export async function storedToken(inside: Inside, id: string, waiters?: number): Promise<TokenRead> {
  const { host, news } = inside
  const found = await inside.read(() =>
    host.storage.tokens.get(id, host.now(), waiters === undefined ? undefined : { waiters }),
  )
  if (found?.record.kind !== 'MANUAL') throw tokenNotFound(id)
  if (found.settledNow) news.tokenSettled(found.record)
  return found
}

/** A page of tokens. */
export async function tokenRecords(
  inside: Inside,
  filter: Omit<TokenFilter, 'kind'>,
  { after, before }: Cursors,
): Promise<Page<TokenRecord>> {
  const { host, news } = inside
  const page = await inside.read(() =>
    host.storage.tokens.list({ kind: 'MANUAL', ...filter }, { limit: PAGE_SIZE, after, before }, host.now()),
  )
  for (const record of page.settled) news.tokenSettled(record)
  return page
}
