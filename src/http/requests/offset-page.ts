import { show } from '../../primitives/require.ts'
import { Refusal } from '../refusal.ts'

const DEFAULT_PAGE_SIZE = 20
const LARGEST_PAGE = 100

/** A page of a list with numbered pages. */
export interface NumberedPage {
  readonly page: number
  readonly perPage: number
}

/**
 * The page that a request asks for.
 *
 * @throws Refusal 400 for numbers that cannot be used.
 */
export function readOffsetPage(query: (name: string) => string | undefined): NumberedPage {
  const page = wholeOf(query('page'), 'page') ?? 1
  return { page, perPage: Math.min(wholeOf(query('perPage'), 'perPage') ?? DEFAULT_PAGE_SIZE, LARGEST_PAGE) }
}

/** A page of all items, as the service answers it. */
export function offsetPageJson(all: readonly object[], { page, perPage }: NumberedPage): object {
  return {
    data: all.slice((page - 1) * perPage, page * perPage),
    pagination: {
      currentPage: page,
      totalPages: Math.max(1, Math.ceil(all.length / perPage)),
      count: all.length,
    },
  }
}

function wholeOf(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Refusal(400, `Query Error: ${name} ${show(text)} must be a whole number from 1`)
}
