import type { Page, PageRequest } from '../../contract/storage.ts'

export interface Listed {
  readonly id: string
  /** Set before it is removed from the indexes that list it. */
  readonly isDropped: boolean
}

/** Below this many dropped items an index is not worth packing. */
const WORTH_PACKING = 64

/** Items in the order of their ids. Ids arrive nearly in order: adding one is O(1), a few places back or not. */
export class IdIndex<T extends Listed> {
  #items: T[] = []
  #dropped = 0

  get size(): number {
    return this.#items.length - this.#dropped
  }

  add(item: T): void {
    const items = this.#items
    let at = items.length
    const last = items[at - 1]
    if (last === undefined || last.id < item.id) {
      items.push(item)
      return
    }
    at = this.#firstFrom(item.id)
    items.splice(at, 0, item)
  }

  /** Notes that an item was dropped. Its place is reused once half of all places are such: O(1) amortised. */
  remove(): void {
    this.#dropped += 1
    if (this.#dropped < WORTH_PACKING || this.#dropped * 2 < this.#items.length) return
    this.#items = this.#items.filter((item) => !item.isDropped)
    this.#dropped = 0
  }

  /** Up to `count` matching items older than `id` (all, without one), newest first. */
  older(id: string | undefined, { count, matches }: Search<T>): T[] {
    const found: T[] = []
    for (
      let at = id === undefined ? this.#items.length : this.#firstFrom(id);
      at > 0 && found.length < count;
      at--
    ) {
      const item = this.#items[at - 1]
      if (item !== undefined && !item.isDropped && matches(item)) found.push(item)
    }
    return found
  }

  /** Up to `count` matching items newer than `id`, oldest first. */
  newer(id: string, { count, matches }: Search<T>): T[] {
    const found: T[] = []
    for (let at = this.#firstFrom(id); at < this.#items.length && found.length < count; at++) {
      const item = this.#items[at]
      if (item !== undefined && item.id !== id && !item.isDropped && matches(item)) found.push(item)
    }
    return found
  }

  /** Index of the first item whose id is `id` or newer. */
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

export interface Search<T> {
  readonly count: number
  readonly matches: (item: T) => boolean
}

export interface PageQuery<T extends Listed> {
  /** An item that several of them hold is answered once. */
  readonly indexes: readonly IdIndex<T>[]
  readonly matches: (item: T) => boolean
  readonly page: PageRequest
}

/** One page of the union of several indexes, newest first. */
export function pageOfIndexes<T extends Listed>({ indexes, matches, page }: PageQuery<T>): Page<T> {
  const { limit, after, before } = page
  const older = (id: string | undefined, count: number): T[] =>
    union(indexes.map((index) => index.older(id, { count, matches }))).slice(0, count)
  const newer = (id: string, count: number): T[] =>
    union(indexes.map((index) => index.newer(id, { count, matches }))).slice(-count)

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
