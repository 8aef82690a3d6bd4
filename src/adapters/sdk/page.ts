import type { CursorPage, CursorPagePromise } from '../../api/cursor-page.ts'

/** What every page of the hosted service has. Iterated: its items, and those of the pages after it. */
export abstract class HostedPage<Item, Same extends HostedPage<Item, Same>> implements AsyncIterable<Item> {
  abstract readonly data: Item[]

  abstract hasNextPage(): boolean

  abstract getNextPage(): Promise<Same>

  getPaginatedItems(): Item[] {
    return this.data
  }

  async *iterPages(): AsyncGenerator<Same, void, unknown> {
    // The pages after it are of its class.
    for (let page = this as unknown as Same; ; page = await page.getNextPage()) {
      yield page
      if (!page.hasNextPage()) return
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, unknown> {
    for await (const { data } of this.iterPages()) yield* data
  }
}

/** Awaited it is the first page, and it may be iterated as that. */
export type Pages<Item, First extends AsyncIterable<Item>> = Promise<First> & AsyncIterable<Item>

/** A first page that may be iterated before it has come. */
export function iterable<Item, First extends AsyncIterable<Item>>(first: Promise<First>): Pages<Item, First> {
  // What iterates it is told of an error.
  first.catch(() => undefined)
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      yield* await first
    },
  })
}

/** A page of a list of the engine, with what `show` makes of its items. */
export class CursoredPage<Item, Stored = never> extends HostedPage<Item, CursoredPage<Item, Stored>> {
  readonly data: Item[]
  readonly pagination: { next?: string; previous?: string }
  readonly #page: CursorPage<Stored>
  readonly #show: (item: Stored) => Item

  constructor(page: CursorPage<Stored>, show: (item: Stored) => Item) {
    super()
    this.data = page.data.map(show)
    this.pagination = page.pagination
    this.#page = page
    this.#show = show
  }

  hasNextPage(): boolean {
    return this.#page.hasNextPage()
  }

  hasPreviousPage(): boolean {
    return this.#page.hasPreviousPage()
  }

  /** Rejects when there is none. */
  async getNextPage(): Promise<CursoredPage<Item, Stored>> {
    return cursored(await this.#page.getNextPage(), this.#show)
  }

  /** Rejects when there is none. */
  async getPreviousPage(): Promise<CursoredPage<Item, Stored>> {
    return cursored(await this.#page.getPreviousPage(), this.#show)
  }
}

function cursored<Item, Stored>(
  page: CursorPage<Stored>,
  show: (item: Stored) => Item,
): CursoredPage<Item, Stored> {
  return new CursoredPage(page, show)
}

/** A list of the engine, with what `show` makes of its items. */
export function shownPages<Item, Stored>(
  pages: CursorPagePromise<Stored>,
  show: (item: Stored) => Item,
): Pages<Item, CursoredPage<Item, Stored>> {
  return iterable<Item, CursoredPage<Item, Stored>>(pages.then((page) => cursored(page, show)))
}
