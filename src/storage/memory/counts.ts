import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { CountStore, StatusCount, StatusCounts } from '../../contract/storage.ts'
import { RUN_STATUSES, TOKEN_STATUSES } from '../../contract/run-states.ts'
import { type IdRange, idRange } from '../made-id.ts'
import type { EntryTable, TableEntry } from './entry-table.ts'
import type { MemoryState } from './state.ts'

type CountedEntry = TableEntry & { readonly record: RunRecord | TokenRecord }

interface CountFilter<Status> extends IdRange {
  readonly status?: readonly Status[] | undefined
  readonly tags?: readonly string[] | undefined
  readonly queue?: string | undefined
}

interface Countable<Status, Entry extends TableEntry> {
  readonly table: EntryTable<Entry>
  /** All statuses, in the order of their groups. */
  readonly groups: readonly Status[]
  readonly strands: readonly string[] | undefined
}

/** Counts of a memory storage. */
export function memoryCounts({ runs, tokens }: MemoryState): CountStore {
  return {
    runs: ({ taskIds, from, to, ...filter }, atMost) =>
      countOf(
        { table: runs.table, groups: RUN_STATUSES, strands: taskIds },
        { ...filter, ...idRange('runs', { from, to }) },
        atMost,
      ),
    tokens: ({ from, to, ...filter }, atMost) =>
      countOf(
        { table: tokens.table, groups: TOKEN_STATUSES, strands: ['MANUAL'] },
        { ...filter, ...idRange('tokens', { from, to }) },
        atMost,
      ),
  }
}

/** Whether a run stands in this queue, or has this limit. */
function isOf(name: string, record: RunRecord | TokenRecord): boolean {
  return 'queue' in record && (record.queue === name || record.limits?.includes(name) === true)
}

/** The blocks of a strand have its counts. What they do not tell apart is looked at. */
function countOf<Status extends string, Entry extends CountedEntry>(
  { table, groups, strands }: Countable<Status, Entry>,
  { status: statuses = groups, tags, queue, floor, ceiling }: CountFilter<Status>,
  atMost: number,
): StatusCounts<Status> {
  const isWhole = tags === undefined && queue === undefined && floor === undefined && ceiling === undefined
  const counted = (record: Entry['record'], strand: string): number =>
    Number(
      (strands?.includes(strand) ?? true) &&
        (queue === undefined || isOf(queue, record)) &&
        (tags?.some((tag) => record.tags.includes(tag)) ?? true),
    )
  const strandOf = (record: Entry['record']): string => ('taskId' in record ? record.taskId : record.kind)

  const tagged = new Map<string, number>()
  const isTagged = ({ record }: Entry): void => {
    tagged.set(record.status, (tagged.get(record.status) ?? 0) + counted(record, strandOf(record)))
  }
  const hasAll =
    tags !== undefined && table.look({ lists: tags, floor, ceiling, matches: () => true }, atMost, isTagged)

  const ofStatus = (status: Status): StatusCount => {
    const group = groups.indexOf(status)
    if (hasAll) return { count: tagged.get(status) ?? 0, isMore: false }
    if (isWhole) return { count: table.count(group, strands), isMore: false }
    let count = 0
    const matches = ({ record }: Entry): boolean => record.status === status
    const isAll = table.look({ strands, groups: [group], floor, ceiling, matches }, atMost, ({ record }) => {
      count += counted(record, strandOf(record))
    })
    return { count, isMore: !isAll }
  }
  return Object.fromEntries(statuses.map((status) => [status, ofStatus(status)])) as {
    readonly [Each in Status]: StatusCount
  }
}
