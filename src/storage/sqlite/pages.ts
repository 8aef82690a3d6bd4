import type { Page, PageRequest } from '../../contract/storage.ts'
import type { Row } from '../../contract/columns.ts'
import type { IdRange } from '../made-id.ts'
import type { SqlValue } from './handle.ts'
import type { SqliteSession } from './session.ts'

/** Conditions and the parameters they take, in order. */
export interface Conditions {
  readonly texts: string[]
  readonly parameters: SqlValue[]
}

/** The rows that an index has for one value, in the order of ids. */
export interface Strand {
  /** The text after `FROM`. */
  readonly from: string
  /** The column that is the id there. */
  readonly id: string
  /** The condition that all rows meet, with `?` for each of `values`. */
  readonly text?: string
  readonly values?: readonly SqlValue[]
}

/** A list: the strands that have all of it between them, and the conditions that each of its records must fulfil besides. */
export interface StrandQuery {
  readonly table: 'runs' | 'tokens'
  readonly strands: readonly Strand[]
  readonly where: Conditions
  /** The ids that its records can have. */
  readonly range: IdRange
  readonly page: PageRequest
}

/** The rows of a page and the cursors of its neighbours. */
export interface RowPage extends Omit<Page<Row>, 'records'> {
  readonly rows: readonly Row[]
}

interface Reach {
  readonly side: '<' | '>'
  readonly id: string | undefined
  readonly count: number
}

/** One page, newest first. */
export function readSqlitePage({ database }: SqliteSession, query: StrandQuery): RowPage {
  const { limit, after, before } = query.page
  const read = (reach: Reach): readonly Row[] => readStrands(database, query, reach)
  if (before === undefined) {
    const found = read({ side: '<', id: after, count: limit + 1 })
    const rows = found.slice(0, limit)
    const first = rows[0]
    const hasNewer =
      after !== undefined && first !== undefined && read({ side: '>', id: idOf(first), count: 1 }).length > 0
    return pageOf(rows, { hasOlder: found.length > limit, hasNewer })
  }
  const found = read({ side: '>', id: before, count: limit + 1 })
  const rows = found.slice(0, limit).reverse()
  const last = rows.at(-1)
  const hasOlder = last !== undefined && read({ side: '<', id: idOf(last), count: 1 }).length > 0
  return pageOf(rows, { hasOlder, hasNewer: found.length > limit })
}

/** The nearest of all strands: of each no more is read than would do if it were the only one. */
function readStrands(
  database: SqliteSession['database'],
  { table, strands, where, range }: StrandQuery,
  { side, id, count }: Reach,
): readonly Row[] {
  const order = side === '<' ? 'DESC' : 'ASC'
  const bounds = boundsOf(range, { side, id })
  const found = strands.map((strand) => {
    const texts = [
      ...(strand.text === undefined ? [] : [strand.text]),
      ...where.texts,
      ...bounds.map(([operator]) => `${strand.id} ${operator} ?`),
    ]
    return database.all(
      `SELECT ${table}.* FROM ${strand.from} ${texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`}
       ORDER BY ${strand.id} ${order} LIMIT ?`,
      ...(strand.values ?? []),
      ...where.parameters,
      ...bounds.map(([, bound]) => bound),
      count,
    )
  })
  return found.length === 1 ? (found[0] ?? []) : merged(found.flat(), side).slice(0, count)
}

type Bound = readonly [operator: '<' | '>' | '>=', id: string]

/** On each side the narrower one of the cursor and the range. */
function boundsOf({ floor, ceiling }: IdRange, { side, id }: Pick<Reach, 'side' | 'id'>): readonly Bound[] {
  const before = side === '<' ? lesser(id, ceiling) : ceiling
  const isPastFloor = side === '>' && id !== undefined && (floor === undefined || id >= floor)
  return [
    ...(before === undefined ? [] : [['<', before] as const]),
    ...(isPastFloor ? [['>', id] as const] : floor === undefined ? [] : [['>=', floor] as const]),
  ]
}

/** Within the range, for an id in this column. */
export function conditionsOn(range: IdRange, column: string): Conditions {
  const bounds = boundsOf(range, { side: '<', id: undefined })
  return {
    texts: bounds.map(([operator]) => `${column} ${operator} ?`),
    parameters: bounds.map(([, bound]): SqlValue => bound),
  }
}

function lesser(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}

/** In order, each once: a record may be in several strands. */
function merged(rows: readonly Row[], side: Reach['side']): readonly Row[] {
  const sign = side === '<' ? -1 : 1
  const byId = new Map(rows.map((row) => [idOf(row), row]))
  return [...byId.values()].sort((one, other) => (idOf(one) < idOf(other) ? -sign : sign))
}

function pageOf(
  rows: readonly Row[],
  { hasOlder, hasNewer }: { readonly hasOlder: boolean; readonly hasNewer: boolean },
): RowPage {
  const [first] = rows
  const last = rows.at(-1)
  return {
    rows,
    ...(hasOlder && last && { next: idOf(last) }),
    ...(hasNewer && first && { previous: idOf(first) }),
  }
}

function idOf(row: Row): string {
  return row['id'] as string
}
