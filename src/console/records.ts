import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { Page, PageRequest, RunFilter, TokenFilter, TokenRead } from '../contract/storage.ts'
import { runNotFound, tokenNotFound } from '../api/not-found.ts'
import type { Inside } from '../core/inside.ts'
import { Refused } from './refused.ts'
import { isSought, type Sought, sizeOfSought } from './sought.ts'

/** So many records are on one page. */
const PAGE_SIZE = 50
/** So many runs, and so many characters of them, are looked through for what no storage lists them by. */
const MOST_LOOKED_THROUGH = 1_000
const MOST_CHARACTERS = 20_000_000

/** So many of the newest runs of a tree are read, and so many of the oldest if there are more. */
const MOST_NEWEST = 200
const MOST_OLDEST = 300
/** So far above a run its parents are looked for. */
const MOST_ABOVE = 50
/** So many runs below one are counted for a row of a list. */
export const MOST_BELOW = 50

/** So many tokens that wait are looked through for the most urgent, and so much of their questions is read. */
const MOST_WAITING = 500
const MOST_OF_QUESTIONS = 2_000_000

/** Where a page begins. */
export interface Cursors {
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** Which runs: no storage lists them by what is sought. */
export type RunsFilter = RunFilter & { readonly sought?: Sought | undefined }

/** A page of runs, and how far they were looked for. */
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

/** The newest runs of a task. */
export async function newestOfTask(
  inside: Inside,
  taskId: string,
  limit: number,
): Promise<readonly RunRecord[]> {
  const { runs } = inside.host.storage
  const { records } = await inside.read(() => runs.list({ taskIds: [taskId] }, { limit }))
  return records
}

/** A page of runs. */
export async function runRecords(
  inside: Inside,
  { sought, ...filter }: RunsFilter,
  cursors: Cursors,
): Promise<RunsPage> {
  const [turns, looks] = [inside.turns(1), inside.turns(100)]
  const list = async (limit: number, { after, before }: Cursors): Promise<Page<RunRecord>> => {
    await turns.next()
    return inside.read(() => inside.host.storage.runs.list(filter, { limit, after, before }))
  }
  if (sought === undefined) return list(PAGE_SIZE, cursors)
  const records: RunRecord[] = []
  let [lookedThrough, characters] = [0, 0]
  let { after } = cursors
  for (;;) {
    const page = await list(100, { after })
    for (const record of page.records) {
      const size = sizeOfSought(record)
      await looks.next(size)
      lookedThrough += 1
      characters += size
      after = record.id
      if (isSought(record, sought)) records.push(record)
      const isEnough =
        records.length === PAGE_SIZE || lookedThrough === MOST_LOOKED_THROUGH || characters > MOST_CHARACTERS
      if (isEnough) return { records, next: after, lookedThrough }
    }
    if (page.next === undefined) return { records, lookedThrough }
    after = page.next
  }
}

/** So many runs are canceled or replayed at once, and so many pages of a list looked through for them. */
export const MOST_AT_ONCE = 1_000
const MOST_PAGES = 40

/** A run that something is done to. Its values are not kept: there may be a thousand. */
export type ChosenRun = Pick<RunRecord, 'id' | 'taskId' | 'status' | 'createdAt'>

/** Runs that are named one by one; what is gone is left out. */
export async function runsById(inside: Inside, ids: readonly string[]): Promise<readonly ChosenRun[]> {
  if (ids.length > PAGE_SIZE) throw new Refused(400, 'These are too many runs for an address.')
  const records = await Promise.all(ids.map((id) => inside.read(() => inside.host.storage.runs.get(id))))
  return records.filter((record) => record !== undefined)
}

/** The newest runs of a list. */
export async function runsByFilter(
  inside: Inside,
  filter: RunsFilter,
): Promise<{ readonly records: readonly ChosenRun[]; readonly isMore: boolean }> {
  const records: ChosenRun[] = []
  let after: string | undefined
  for (let pages = 0; pages < MOST_PAGES && records.length < MOST_AT_ONCE; pages += 1) {
    const page = await runRecords(inside, filter, { after })
    for (const { id, taskId, status, createdAt } of page.records)
      records.push({ id, taskId, status, createdAt })
    if (page.next === undefined) return { records, isMore: false }
    after = page.next
  }
  return { records, isMore: true }
}

/** The tree that a run is in. */
export interface RunTree {
  readonly root: RunRecord
  /** The children of each run, by its id, the oldest first. */
  readonly children: ReadonlyMap<string, readonly RunRecord[]>
  /** There are others, which were not read. */
  readonly isMore: boolean
}

/** The tree of a run, with its parents and with `own`, those of its children that are known. Of a large one the oldest and the newest runs. */
export async function runTree(
  inside: Inside,
  record: RunRecord,
  own: readonly RunRecord[],
): Promise<RunTree> {
  const { runs } = inside.host.storage
  const list = (page: PageRequest): Promise<Page<RunRecord>> =>
    inside.read(() => runs.list({ root: record.rootId }, page))
  const newest = await list({ limit: MOST_NEWEST })
  const { next = '' } = newest
  const { records, previous } =
    next === '' ? newest : await list({ limit: MOST_OLDEST, before: record.rootId })
  const isMore = previous !== undefined && (records[0]?.id ?? '') < next
  const known = new Map([record, ...own, ...newest.records, ...records].map((each) => [each.id, each]))
  let root = record
  for (let above = 0; root.parentId !== undefined && above < MOST_ABOVE; above += 1) {
    const { parentId } = root
    const parent = known.get(parentId) ?? (await inside.read(() => runs.get(parentId)))
    if (parent === undefined) break
    known.set(parentId, parent)
    root = parent
  }
  const children = new Map<string, RunRecord[]>()
  for (const each of [...known.values()].sort((one, other) => (one.id < other.id ? -1 : 1))) {
    const { parentId } = each
    if (parentId === undefined || each === root) continue
    const siblings = children.get(parentId)
    if (siblings === undefined) children.set(parentId, [each])
    else siblings.push(each)
  }
  return { root, children, isMore }
}

/** How many runs there are below the roots of a page, at most {@link MOST_BELOW} and one. */
export async function familySizes(
  inside: Inside,
  records: readonly RunRecord[],
): Promise<ReadonlyMap<string, number>> {
  const { runs } = inside.host.storage
  const page = { limit: MOST_BELOW + 1, mayLag: true } as const
  const roots = records.filter(({ parentId }) => parentId === undefined)
  const all = roots.map(async ({ id }) => {
    const below = await inside.read(() => runs.list({ root: id }, page))
    return [id, below.records.length] as const
  })
  return new Map(await Promise.all(all))
}

/** What the runs of a page wait for that do. */
export async function openWaits(
  inside: Inside,
  records: readonly RunRecord[],
): Promise<ReadonlyMap<string, readonly TokenRecord[]>> {
  const waiting = records.filter(({ status }) => status === 'WAITING')
  const turns = inside.turns(1)
  const all = waiting.map(async ({ id }) => {
    // A run may wait for thousands.
    await turns.next()
    return [id, await inside.read(() => inside.host.storage.runs.waits(id))] as const
  })
  return new Map(await Promise.all(all))
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
  { after, before, limit = PAGE_SIZE }: Cursors & { readonly limit?: number },
): Promise<Page<TokenRecord>> {
  const { host, news } = inside
  const page = await inside.read(() =>
    host.storage.tokens.list({ kind: 'MANUAL', ...filter }, { limit, after, before }, host.now()),
  )
  for (const record of page.settled) news.tokenSettled(record)
  return page
}

/** Tokens that wait, of the newest or of those after a token. */
export interface WaitingTokens {
  readonly records: readonly TokenRecord[]
  readonly lookedThrough: number
  /** Set if there are older ones. */
  readonly next?: string
}

/** The newest tokens that wait: no storage lists them by their deadline. */
export async function waitingTokens(inside: Inside, from: string | undefined): Promise<WaitingTokens> {
  const records: TokenRecord[] = []
  let characters = 0
  let after = from
  for (;;) {
    const page = await tokenRecords(inside, { status: ['WAITING'] }, { after })
    for (const [at, record] of page.records.entries()) {
      records.push(record)
      characters += record.questionJson?.length ?? 0
      const isLast = page.next === undefined && at === page.records.length - 1
      if (!isLast && (records.length === MOST_WAITING || characters > MOST_OF_QUESTIONS))
        return { records, lookedThrough: records.length, next: record.id }
    }
    if (page.next === undefined) return { records, lookedThrough: records.length }
    after = page.next
  }
}
