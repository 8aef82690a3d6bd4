import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { Page, RunFilter, TokenFilter, TokenRead } from '../contract/storage.ts'
import { runNotFound, tokenNotFound } from '../api/not-found.ts'
import { GET_RUN, GET_TOKEN, LIST_RUNS, LIST_TOKENS } from '../core/host/storage-calls.ts'
import type { Kernel } from '../core/kernel.ts'

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
export async function runRecord(kernel: Kernel, id: string): Promise<RunRecord> {
  const record = await kernel.read(() => kernel.asked(GET_RUN, id))
  if (record === undefined) throw runNotFound(id)
  return record
}

/** A page of runs. */
export async function runRecords(
  kernel: Kernel,
  { queue, ...filter }: RunFilter & { readonly queue?: string | undefined },
  cursors: Cursors,
): Promise<RunsPage> {
  const list = (limit: number, { after, before }: Cursors): Promise<Page<RunRecord>> =>
    kernel.read(() => kernel.asked(LIST_RUNS, { filter, page: { limit, after, before } }))
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
export async function storedToken(kernel: Kernel, id: string, waiters?: number): Promise<TokenRead> {
  const found = await kernel.read(() => kernel.asked(GET_TOKEN, { id, now: kernel.host.now(), waiters }))
  if (found?.record.kind !== 'MANUAL') throw tokenNotFound(id)
  if (found.settledNow) kernel.publisher.token(found.record)
  return found
}

/** A page of tokens. */
export async function tokenRecords(
  kernel: Kernel,
  filter: Omit<TokenFilter, 'kind'>,
  { after, before }: Cursors,
): Promise<Page<TokenRecord>> {
  const page = await kernel.read(() =>
    kernel.asked(LIST_TOKENS, {
      filter: { kind: 'MANUAL', ...filter },
      page: { limit: PAGE_SIZE, after, before },
      now: kernel.host.now(),
    }),
  )
  for (const record of page.settled) kernel.publisher.token(record)
  return page
}
