import type { BoundStatement, SqlValue } from './sqlite/handle.ts'

/** A statement with plain parameters only, and which value each of them takes. */
export interface PlainStatement {
  readonly sql: string
  /** Places in what is given, from 0; none when it is given in that order. */
  readonly order: readonly number[] | undefined
}

const NUMBERED = /\?(\d+)/g

/**
 * The same statement with `?` for every `?1`, which `better-sqlite3` takes for a name: a value that is wanted twice is
 * given twice.
 */
export function plainStatement(sql: string): PlainStatement {
  const order: number[] = []
  const plain = sql.replace(NUMBERED, (_, number: string) => {
    order.push(Number(number) - 1)
    return '?'
  })
  return { sql: plain, order: order.length === 0 ? undefined : order }
}

/** Gives a statement its values in the order in which it wants them. */
export function inOrder(statement: BoundStatement, order: PlainStatement['order']): BoundStatement {
  if (order === undefined) return statement
  const arranged = (values: readonly SqlValue[]): SqlValue[] => order.map((place) => values[place] ?? null)
  return {
    run: (values) => statement.run(arranged(values)),
    get: (values) => statement.get(arranged(values)),
    all: (values) => statement.all(arranged(values)),
  }
}
