import { BLOCK, BlockCounts } from './block-counts.ts'
import type { Page, PageRequest } from '../../contract/storage.ts'
import type { IdRange } from '../made-id.ts'

export interface Listed {
  readonly id: string
  /** Set before it is removed from the indexes that list it. */
  readonly isDropped: boolean
}

/** Below this many dropped items an index is not worth packing. */
const WORTH_PACKING = 64

/** How the items of an index are counted by group, so that a search passes over blocks without the groups it looks for. */
export interface Grouping<T extends Listed> {
  readonly groups: number
  readonly groupOf: (item: T) => number
  /** Is told where an item is, as often as that changes. */
  readonly place: (item: T, position: number) => void
  readonly positionOf: (item: T) => number
}

/**
 * Items in the order of their ids. Ids arrive nearly in order: adding one is O(1), a few places back or not. A search within
 * a range of ids finds it by halving.
 */
export class IdIndex<T extends Listed> {
  #items: T[] = []
  #dropped = 0
  readonly #grouping: Grouping<T> | undefined
  readonly #counts: BlockCounts | undefined

  constructor(grouping?: Grouping<T>) {
    this.#grouping = grouping
    this.#counts = grouping && new BlockCounts(grouping.groups)
  }

  get size(): number {
    return this.#items.length - this.#dropped
  }

  add(item: T): void {
    const items = this.#items
    const last = items.at(-1)
    if (last === undefined || last.id < item.id) {
      items.push(item)
      this.#place(item, items.length - 1)
      return
    }
    const at = this.#firstFrom(item.id)
    items.splice(at, 0, item)
    this.#placeFrom(at)
  }

  /** Takes an item out that goes on elsewhere. Rare: later items move up. */
  takeOut(item: T): void {
    const at = this.#firstFrom(item.id)
    if (this.#items[at] !== item) return
    this.#items.splice(at, 1)
    this.#placeFrom(at)
  }

  /** Counts an item in another group. */
  regroup(position: number, { before, after }: { readonly before: number; readonly after: number }): void {
    this.#counts?.remove(position, before)
    this.#counts?.add(position, after)
  }

  /** How many items of a group there are. */
  count(group: number): number {
    return this.#counts?.total(group) ?? 0
  }

  /** Notes that an item was dropped. Its place is reused once half of all places are such: O(1) amortised. */
  remove(item: T): void {
    this.#dropped += 1
    if (this.#grouping !== undefined)
      this.#counts?.remove(this.#grouping.positionOf(item), this.#grouping.groupOf(item))
    if (this.#dropped < WORTH_PACKING || this.#dropped * 2 < this.#items.length) return
    this.#items = this.#items.filter((item) => !item.isDropped)
    this.#dropped = 0
    this.#placeFrom(0)
  }

  /** Counts the block of a position and later ones anew. */
  #placeFrom(position: number): void {
    if (this.#grouping === undefined) return
    const first = position - (position % BLOCK)
    this.#counts?.clear(first)
    for (let at = first; at < this.#items.length; at += 1) {
      const item = this.#items[at]
      if (item?.isDropped === false) this.#place(item, at)
    }
  }

  #place(item: T, position: number): void {
    const grouping = this.#grouping
    if (grouping === undefined) return
    grouping.place(item, position)
    this.#counts?.add(position, grouping.groupOf(item))
  }

  /** Whether a search passes over the block of a position. */
  #isPassed(position: number, groups: readonly number[] | undefined): boolean {
    return groups !== undefined && this.#counts?.hasAny(position, groups) === false
  }

  /** Up to `count` matching items older than `id` (all, without one), newest first. */
  older(id: string | undefined, { count, matches, floor, ceiling, groups }: Search<T>): T[] {
    const found: T[] = []
    const start = floor === undefined ? 0 : this.#firstFrom(floor)
    const end = ceiling === undefined ? this.#items.length : this.#firstFrom(ceiling)
    for (
      let at = id === undefined ? end : Math.min(end, this.#firstFrom(id));
      at > start && found.length < count;
      at--
    ) {
      if (at % BLOCK === 0 && this.#isPassed(at - 1, groups)) {
        at -= BLOCK - 1
        continue
      }
      const item = this.#items[at - 1]
      if (item !== undefined && !item.isDropped && matches(item)) found.push(item)
    }
    return found
  }

  /** Up to `count` matching items newer than `id`, oldest first. */
  newer(id: string, { count, matches, floor = id, ceiling, groups }: Search<T>): T[] {
    const found: T[] = []
    const end = ceiling === undefined ? this.#items.length : this.#firstFrom(ceiling)
    for (let at = this.#firstFrom(id < floor ? floor : id); at < end && found.length < count; at++) {
      if (at % BLOCK === 0 && this.#isPassed(at, groups)) {
        at += BLOCK - 1
        continue
      }
      const item = this.#items[at]
      if (item !== undefined && item.id !== id && !item.isDropped && matches(item)) found.push(item)
    }
    return found
  }

  /** By halving: the index of the first item whose id is `id` or newer. */
  #firstFrom(id: string): number {
    let low = 0
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >> 1
      const item = this.#items[middle]
      if (item !== undefined && item.id < id) low = middle + 1
      else high = middle
    }
    return low
  }
}

export interface Search<T> extends IdRange {
  readonly count: number
  /** Only items of these groups match, where items are counted by group. */
  readonly groups?: readonly number[] | undefined
  readonly matches: (item: T) => boolean
}

export interface PageQuery<T extends Listed> extends IdRange {
  /** An item that several of them hold is answered once. */
  readonly indexes: readonly IdIndex<T>[]
  /** See {@link Search}. */
  readonly groups?: readonly number[] | undefined
  readonly matches: (item: T) => boolean
  readonly page: PageRequest
}

/** One page of the union of several indexes, newest first. */
export function pageOfIndexes<T extends Listed>({ indexes, page, ...query }: PageQuery<T>): Page<T> {
  const { limit, after, before } = page
  const older = (id: string | undefined, count: number): T[] =>
    union(indexes.map((index) => index.older(id, { ...query, count }))).slice(0, count)
  const newer = (id: string, count: number): T[] =>
    union(indexes.map((index) => index.newer(id, { ...query, count }))).slice(-count)

  if (before === undefined) {
    const found = older(after, limit + 1)
    const records = found.slice(0, limit)
    const first = records[0]
    const hasNewer = after !== undefined && first !== undefined && newer(first.id, 1).length > 0
    return pageOf(records, { hasOlder: found.length > limit, hasNewer })
  }
  const found = newer(before, limit + 1)
  const records = found.slice(-limit)
  const last = records.at(-1)
  return pageOf(records, {
    hasOlder: last !== undefined && older(last.id, 1).length > 0,
    hasNewer: found.length > limit,
  })
}

function pageOf<T extends Listed>(
  records: readonly T[],
  { hasOlder, hasNewer }: { readonly hasOlder: boolean; readonly hasNewer: boolean },
): Page<T> {
  return {
    records,
    ...(hasOlder && { next: records.at(-1)?.id }),
    ...(hasNewer && { previous: records[0]?.id }),
  }
}

/** All of them once, newest first. */
function union<T extends Listed>(lists: readonly T[][]): T[] {
  const all = [...new Set(lists.flat())]
  return all.sort((one, other) => (one.id < other.id ? 1 : -1))
}
