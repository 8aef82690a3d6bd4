import type { Page, PageRequest } from '../../contract/storage.ts'
import type { IdRange } from '../made-id.ts'
import type { SqlValue } from './handle.ts'
import { MOST_CHARACTERS, type Perform, type SqliteSession } from './session.ts'

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
  readonly strands: readonly Strand[]
  readonly where: Conditions
  /** The ids that its records can have. */
  readonly range: IdRange
  readonly page: PageRequest
}

/** The ids of a page and the cursors of its neighbours. */
export interface IdPage extends Omit<Page<never>, 'records'> {
  readonly ids: readonly string[]
}

/** The records of a page that were read, and the ids of the others. */
interface Begun<Listed> {
  readonly records: Listed[]
  readonly left: readonly string[]
}

type ReadOne<Listed> = (session: SqliteSession, id: string) => Listed | undefined

/** The first records of a page, as many as there may be in one transaction: a page of a hundred may be of hundreds of millions of characters. */
export function beginRecords<Listed>(
  session: SqliteSession,
  ids: readonly string[],
  read: ReadOne<Listed>,
): Begun<Listed> {
  const { database } = session
  const most = database.moved + MOST_CHARACTERS
  const records: Listed[] = []
  let looked = 0
  for (const id of ids) {
    if (database.moved > most) break
    looked += 1
    const record = read(session, id)
    if (record !== undefined) records.push(record)
  }
  return { records, left: ids.slice(looked) }
}

/** All records of a page. Those that are gone by their transaction are left out. */
export async function allRecords<Listed>(
  perform: Perform,
  { records, left }: Begun<Listed>,
  read: ReadOne<Listed>,
): Promise<readonly Listed[]> {
  for (let ids = left; ids.length > 0;) {
    const next = await perform((session) => beginRecords(session, ids, read), 'read')
    records.push(...next.records)
    ids = next.left
  }
  return records
}

interface Reach {
  readonly side: '<' | '>'
  readonly id: string | undefined
  readonly count: number
}

/** One page, newest first. */
export function readSqlitePage({ database }: SqliteSession, query: StrandQuery): IdPage {
  const { limit, after, before } = query.page
  const read = (reach: Reach): readonly string[] => readStrands(database, query, reach)
  if (before === undefined) {
    const found = read({ side: '<', id: after, count: limit + 1 })
    const ids = found.slice(0, limit)
    const first = ids[0]
    const hasNewer =
      after !== undefined && first !== undefined && read({ side: '>', id: first, count: 1 }).length > 0
    return pageOf(ids, { hasOlder: found.length > limit, hasNewer })
  }
  const found = read({ side: '>', id: before, count: limit + 1 })
  const ids = found.slice(0, limit).reverse()
  const last = ids.at(-1)
  const hasOlder = last !== undefined && read({ side: '<', id: last, count: 1 }).length > 0
  return pageOf(ids, { hasOlder, hasNewer: found.length > limit })
}

/** The nearest of all strands: of each no more is read than would do if it were the only one. */
function readStrands(
  database: SqliteSession['database'],
  { strands, where, range }: StrandQuery,
  { side, id, count }: Reach,
): readonly string[] {
  const order = side === '<' ? 'DESC' : 'ASC'
  const bounds = boundsOf(range, { side, id })
  const found = strands.map((strand) => {
    const texts = [
      ...(strand.text === undefined ? [] : [strand.text]),
      ...where.texts,
      ...bounds.map(([operator]) => `${strand.id} ${operator} ?`),
    ]
    const rows = database.allValues(
      `SELECT ${strand.id} FROM ${strand.from} ${texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`}
       ORDER BY ${strand.id} ${order} LIMIT ?`,
      ...(strand.values ?? []),
      ...where.parameters,
      ...bounds.map(([, bound]) => bound),
      count,
    )
    return rows.map(([found]) => found as string)
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
function merged(ids: readonly string[], side: Reach['side']): readonly string[] {
  const sign = side === '<' ? -1 : 1
  return [...new Set(ids)].sort((one, other) => (one < other ? -sign : sign))
}

function pageOf(
  ids: readonly string[],
  { hasOlder, hasNewer }: { readonly hasOlder: boolean; readonly hasNewer: boolean },
): IdPage {
  const [first] = ids
  const last = ids.at(-1)
  return {
    ids,
    ...(hasOlder && last !== undefined && { next: last }),
    ...(hasNewer && first !== undefined && { previous: first }),
  }
}
