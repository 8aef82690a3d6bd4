import { defined } from '../primitives/defined.ts'

/** One page of a list, newest first. */
export interface CursorPage<Item> {
  readonly data: readonly Item[]
  readonly pagination: { readonly next?: string; readonly previous?: string }
  hasNextPage(): boolean
  hasPreviousPage(): boolean
  getNextPage(): Promise<CursorPage<Item>>
  getPreviousPage(): Promise<CursorPage<Item>>
}

/** Awaited it is the first page; iterated it walks every item of every page. */
export interface CursorPagePromise<Item> extends Promise<CursorPage<Item>>, AsyncIterable<Item> {}

/** Where a page starts: records older than `after`, or newer than `before`. */
export interface Cursor {
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** One page of a source. */
export interface LoadedPage<Item> {
  readonly data: readonly Item[]
  readonly next?: string | undefined
  readonly previous?: string | undefined
}

type Load<Item> = (cursor: Cursor) => Promise<LoadedPage<Item>>

/** The first page of a list, loaded at once; further ones when asked for. It rejects with the error that `start` throws. */
export function cursorPages<Item>(load: Load<Item>, start: () => Cursor): CursorPagePromise<Item> {
  const first = loadFirst(load, start)
  // Iterating instead of awaiting must not leave this promise without a handler; the iterator rejects itself.
  first.catch(() => undefined)
  return Object.assign(first, { [Symbol.asyncIterator]: () => walk(first) })
}

async function loadFirst<Item>(load: Load<Item>, start: () => Cursor): Promise<CursorPage<Item>> {
  return loadPage(load, start())
}

async function loadPage<Item>(load: Load<Item>, cursor: Cursor): Promise<CursorPage<Item>> {
  if (cursor.after !== undefined && cursor.before !== undefined)
    throw new RangeError('Cannot list: after and before exclude each other, give one of them')
  const { data, next, previous } = await load(cursor)
  return {
    data,
    pagination: defined({ next, previous }),
    hasNextPage: () => next !== undefined,
    hasPreviousPage: () => previous !== undefined,
    getNextPage: () => (next === undefined ? noPage('next') : loadPage(load, { after: next })),
    getPreviousPage: () =>
      previous === undefined ? noPage('previous') : loadPage(load, { before: previous }),
  }
}

function noPage(which: string): Promise<never> {
  return Promise.reject(new RangeError(`Cannot get the ${which} page: there is none`))
}

async function* walk<Item>(first: Promise<CursorPage<Item>>): AsyncGenerator<Item> {
  for (let page = await first; ; page = await page.getNextPage()) {
    yield* page.data
    if (!page.hasNextPage()) return
  }
}
