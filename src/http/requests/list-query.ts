import {
  FROM_FILTER,
  PAGE_AFTER,
  PAGE_BEFORE,
  PAGE_SIZE,
  PERIOD_FILTER,
  TO_FILTER,
} from '../../hosted/list-parameters.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'
import { show } from '../../primitives/require.ts'
import { Refusal } from '../refusal.ts'

/** The page a request asks for. */
export interface AskedPage {
  readonly limit?: number
  readonly after?: string
  readonly before?: string
}

/** The range of creation times a request asks for. */
export interface AskedTime {
  readonly period?: string
  readonly from?: number
  readonly to?: number
}

const COMMON = [PERIOD_FILTER, FROM_FILTER, TO_FILTER, PAGE_SIZE, PAGE_AFTER, PAGE_BEFORE]
const DEFAULT_SIZE = 25

/**
 * The `filter[…]` and `page[…]` parameters of a list request. An unknown one is refused, because ignoring it would
 * change the answer. Other parameters are ignored.
 */
export class ListQuery {
  readonly #params: URLSearchParams

  /**
   * @param filters The allowed names: `status` for `filter[status]`.
   * @throws Refusal 400 for a filter with another name.
   */
  constructor(request: Request, filters: readonly string[]) {
    this.#params = new URL(request.url).searchParams
    const known = [...filters.map((name) => `filter[${name}]`), ...COMMON]
    for (const name of this.#params.keys()) {
      if (!/^(?:filter|page)\b/.test(name) || known.includes(name)) continue
      throw wrong(`there is no ${show(name)}; use ${known.join(', ')}`)
    }
  }

  /** The values of `filter[name]`, separated by commas or repeated; `undefined` if the parameter is missing. */
  list(name: string): readonly string[] | undefined {
    const given = this.#params.getAll(`filter[${name}]`).flatMap((text) => text.split(','))
    const items = given.filter((item) => item !== '')
    return items.length === 0 ? undefined : items
  }

  /** The value of `filter[name]`, or `undefined` if the parameter is missing. */
  text(name: string): string | undefined {
    return this.#one(`filter[${name}]`)
  }

  created(): AskedTime {
    const period = this.#one(PERIOD_FILTER)
    const from = this.#instant(FROM_FILTER)
    const to = this.#instant(TO_FILTER)
    return {
      ...(period === undefined ? {} : { period }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
  }

  /** @throws Refusal 400 for a page size below 1 or above `most`. */
  page(most: number): AskedPage {
    const limit = this.#size(most)
    const after = this.#cursor(PAGE_AFTER)
    const before = this.#cursor(PAGE_BEFORE)
    return {
      ...(limit === undefined ? {} : { limit }),
      // The published client repeats the cursor of the current page when it asks for the page before it.
      ...(before === undefined ? (after === undefined ? {} : { after }) : { before }),
    }
  }

  #one(name: string): string | undefined {
    const [value, ...more] = this.#params.getAll(name)
    if (more.length > 0) throw wrong(`${name} is given more than once`)
    return value === '' ? undefined : value
  }

  #size(most: number): number | undefined {
    const text = this.#one(PAGE_SIZE)
    // A configured limit also lowers the default.
    if (text === undefined) return most < DEFAULT_SIZE ? most : undefined
    const size = /^\d{1,9}$/.test(text) ? Number(text) : 0
    if (size >= 1 && size <= most) return size
    throw wrong(`page[size] ${show(text)} must be a whole number from 1 to ${most}`)
  }

  #cursor(name: string): string | undefined {
    const text = this.#one(name)
    // Cursors are ids.
    if (text === undefined || /^\w{1,80}$/.test(text)) return text
    throw wrong(`${name} ${show(text)} is not a cursor from an earlier page`)
  }

  #instant(name: string): number | undefined {
    const text = this.#one(name)
    if (text === undefined) return undefined
    const at = /^-?\d+$/.test(text) ? Number(text) : Date.parse(text)
    if (Math.abs(at) <= LAST_INSTANT) return at
    throw wrong(`${name} ${show(text)} must be a date, or milliseconds since 1970`)
  }
}

function wrong(why: string): Refusal {
  return new Refusal(400, `Query Error: ${why}`)
}
