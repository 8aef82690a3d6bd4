import { type OptionNames, requireOptions, requireWhole } from '../../primitives/require.ts'
import { HostedPage, iterable, type Pages } from './page.ts'

/** Which page of a list is asked for, and how long it is. */
export interface OffsetOptions {
  page?: number
  perPage?: number
}

interface PageRead<Item> {
  readonly items: readonly Item[]
  readonly page: number
  readonly perPage: number
  /** Reads another page. */
  readonly read: (options: OffsetOptions) => Promise<OffsetPage<Item>>
}

/** Some of a list. Iterated: these, and those of the pages after it. */
export class OffsetPage<Item> extends HostedPage<Item, OffsetPage<Item>> {
  readonly data: Item[]
  readonly pagination: { currentPage: number; totalPages: number; count: number }
  readonly #at: (page: number) => Promise<OffsetPage<Item>>

  constructor({ items, page, perPage, read }: PageRead<Item>) {
    super()
    this.data = items.slice((page - 1) * perPage, page * perPage)
    const totalPages = Math.max(1, Math.ceil(items.length / perPage))
    this.pagination = { currentPage: page, totalPages, count: items.length }
    this.#at = (other) => read({ page: other, perPage })
  }

  hasNextPage(): boolean {
    return this.pagination.currentPage < this.pagination.totalPages
  }

  hasPreviousPage(): boolean {
    return this.pagination.currentPage > 1
  }

  /** @throws Error when there is none. */
  getNextPage(): Promise<OffsetPage<Item>> {
    if (!this.hasNextPage()) throw new Error('Cannot get the next page: there is none')
    return this.#at(this.pagination.currentPage + 1)
  }

  /** @throws Error when there is none. */
  getPreviousPage(): Promise<OffsetPage<Item>> {
    if (!this.hasPreviousPage()) throw new Error('Cannot get the previous page: there is none')
    return this.#at(this.pagination.currentPage - 1)
  }
}

/** A page that is awaited, or iterated as it is. */
export type OffsetPagePromise<Item> = Pages<Item, OffsetPage<Item>>

const NAMES: OptionNames<OffsetOptions> = { page: true, perPage: true }

/** The list that `all` reads, in pages. Rejects with a TypeError or RangeError for options that cannot be used. */
export function offsetPages<Item>(
  all: () => Promise<readonly Item[]>,
  options: OffsetOptions = {},
): OffsetPagePromise<Item> {
  const read = async (given: OffsetOptions): Promise<OffsetPage<Item>> => {
    requireOptions(given, 'the options of a list', NAMES)
    const { page = 1, perPage = 20 } = given
    requireWhole(page, 'page', { from: 1 })
    requireWhole(perPage, 'perPage', { from: 1 })
    return new OffsetPage({ items: await all(), page, perPage, read })
  }
  return iterable<Item, OffsetPage<Item>>(read(options))
}
